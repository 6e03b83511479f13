import { Waiting } from '../errors.ts';
import type { LocalFacts, Manifest, Snapshot } from '../snapshot.ts';
import { runtimeNameOf } from './object-parts.ts';
import { ownValue } from './own-value.ts';
import type { BackendFinding } from './finding.ts';

/** Milliseconds until the plan checks a taken port again. No event reports that it is free. */
const PORT_AGAIN = 2000;

/** @throws Waiting if another resource of the folder has the port of this program */
export function checkProgramPort(name: string, { portConflicts }: LocalFacts): void {
  const conflict = portConflicts && ownValue(portConflicts.programs, name);
  if (conflict !== undefined) throw new Waiting('PortInUse', conflict, { retryIn: PORT_AGAIN });
}

/** @throws Waiting if another resource of the folder has the port of this endpoint */
export function checkEndpointPort(manifest: Manifest, { platform }: Snapshot): void {
  if (platform.mode !== 'local' || !platform.portConflicts) return;
  const conflict = ownValue(platform.portConflicts.runtimes, runtimeNameOf(manifest));
  if (conflict !== undefined) throw new Waiting('PortInUse', conflict, { retryIn: PORT_AGAIN });
}

/** Returns why a program of this machine is not called: credentials must not go to a port that another program may have. */
export function findProgramProblem(
  name: string,
  url: string,
  { platform }: Pick<Snapshot, 'platform'>,
): Waiting | undefined {
  if (platform.mode !== 'local' || !platform.programs) return undefined;
  const program = ownValue(platform.programs, name);
  const retry = { retryIn: PORT_AGAIN };
  if (program?.problem) return new Waiting(program.problem.reason, program.problem.message, retry);
  if (program?.port === Number(new URL(url).port)) return undefined;
  return new Waiting(
    'ProgramNotStarted',
    `its program is not started yet: see the conditions of MCPServer "${name}"`,
    retry,
  );
}

/** @throws Waiting until a start of each program has been tried, so that a new runtime finds its backends at its first probe */
export function awaitPrograms(findings: readonly BackendFinding[], { platform }: Pick<Snapshot, 'platform'>): void {
  const programs = platform.mode === 'local' ? platform.programs : undefined;
  if (!programs) return;
  const awaited = findings.filter(
    (one) => 'excluded' in one && one.excluded.reason === 'ProgramNotStarted' && !ownValue(programs, one.name),
  );
  if (awaited.length === 0) return;
  const named = awaited.map(({ name }) => `"${name}"`).join(', ');
  const message = `the program of MCPServer ${named} is not started yet: see the conditions of that resource`;
  throw new Waiting('ProgramNotStarted', message, { retryIn: PORT_AGAIN });
}
