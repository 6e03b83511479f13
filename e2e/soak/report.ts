import type { Member } from './members.ts';
import { ANY, type Failure, type Outcomes } from './outcomes.ts';

const SHOWN = 8;

/** Checks of a soak; each counts as a test. */
export class Checks {
  passed = 0;
  failed = 0;

  /** `problem`: undefined if the check succeeds. */
  check(name: string, problem: string | undefined): void {
    this[problem === undefined ? 'passed' : 'failed'] += 1;
    console.log(`${problem === undefined ? '✓' : '✗'} ${name}${problem === undefined ? '' : `: ${problem}`}`);
  }
}

/** Checks the calls of each member, and those of the gateway itself. */
export function checkCalls(checks: Checks, part: string, members: readonly Member[], outcomes: Outcomes): void {
  const unexplained = Map.groupBy(outcomes.unexplained(), ({ member }) => member);
  for (const { name, role } of members) {
    const outages = outcomes.outages(name).map((ms) => (ms / 1000).toFixed(1));
    const after = role === 'steady' ? '' : `, outside of outages of ${outages.join(', ') || '0'} s`;
    const title = `${part}: no call of ${name} fails${after} (${outcomes.calls(name)} calls)`;
    checks.check(title, describeFailures(unexplained.get(name)));
  }
  const title = `${part}: no list and no new session fails (${outcomes.calls(ANY)})`;
  checks.check(title, describeFailures(unexplained.get(ANY)));
}

function describeFailures(failures: readonly Failure[] | undefined): string | undefined {
  if (failures === undefined || failures.length === 0) return undefined;
  const byProblem = Map.groupBy(failures, ({ kind, problem }) => `${kind}: ${problem.slice(0, 200)}`);
  const kinds = [...byProblem].sort(([, one], [, other]) => other.length - one.length).slice(0, SHOWN);
  const lines = kinds.map(([problem, all]) => `\n    ${all.length} × ${problem} (${timesOf(all)})`);
  return `${failures.length} failed${lines.join('')}`;
}

/** Returns the start times of the first failures, in seconds of the monotonic clock, and their durations. */
function timesOf(failures: readonly Failure[]): string {
  const shown = failures.slice(0, 3);
  return shown.map(({ began, ended }) => `${at(began)} for ${((ended - began) / 1000).toFixed(1)} s`).join('; ');
}

const at = (milliseconds: number) => `at ${(milliseconds / 1000).toFixed(1)} s`;
