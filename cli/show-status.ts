import type { LocalStatus } from '#local/local-status-file';
import type { Context, Output } from './context.ts';
import { printProblem } from './check-folder.ts';
import { shownText, writeRaw } from './shown-output.ts';
import { printLocalStatus, remarksOf, serversOf, shownName } from './summarise-status.ts';

export type ShowStatus = (localStatus: LocalStatus, above?: string[]) => void;

export function liveTable(out: Output, context: Pick<Context, 'typed'>): ShowStatus {
  let height = 0;
  return (localStatus, above = []) => {
    // Some terminals report a width of 0.
    const width = out.columns === undefined || out.columns === 0 ? 80 : out.columns;
    const lines = printLocalStatus(localStatus, context).map((line) =>
      line.length > width ? `${line.slice(0, width - 1)}…` : line,
    );
    const up = height === 0 ? '' : `\u001B[${height}A`;
    writeRaw(out, `${up}\u001B[J${shownText([...above, ...lines].join('\n'))}\n`);
    height = lines.length;
  };
}

function factsOf(localStatus: LocalStatus): Map<string, string> {
  const facts = new Map<string, string>();
  for (const problem of localStatus.problems) facts.set(printProblem(problem), printProblem(problem));
  for (const server of serversOf(localStatus)) {
    const shown = shownName(server);
    facts.set(shown, `${shown}: ${server.phase} ${server.endpoint ?? ''}`.trimEnd());
    for (const { name, phase, tools, message, loginUrl } of server.backends) {
      const count = tools === null ? '' : ` (${tools} tools)`;
      const login = loginUrl === null ? '' : `: log in at ${loginUrl}`;
      facts.set(`${shown}/${name}`, `${shown}/${name}: ${phase}${count} ${message}${login}`.trimEnd());
    }
    for (const { type, reason, message } of remarksOf(server)) {
      facts.set(`${shown} ${type}`, `${shown}: ${reason}: ${message}`);
    }
  }
  for (const { name, state, lastEnd } of localStatus.processes) {
    facts.set(
      `process ${name}`,
      `${name}: ${state}${state === 'waiting' && lastEnd !== undefined ? ` (${lastEnd})` : ''}`,
    );
  }
  return facts;
}

export function plainLines(out: Output): ShowStatus {
  let shown = new Map<string, string>();
  return (localStatus, above = []) => {
    const facts = factsOf(localStatus);
    if (above.length > 0) out.write(`${above.join('\n')}\n`);
    for (const [about, fact] of facts) if (shown.get(about) !== fact) out.write(`${fact}\n`);
    for (const about of shown.keys()) if (!facts.has(about)) out.write(`${about}: no longer\n`);
    shown = facts;
  };
}
