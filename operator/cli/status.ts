import { readLock } from '#operator/local/lock';
import { type Board, OtherVersion, readBoard } from '#operator/local/status-board';
import { buildOf } from './build-of.ts';
import type { Context, Format } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { nothingRuns, startAgain } from './nothing-runs.ts';
import { printObject } from './print-object.ts';
import { printBoard, type ServerSummary, serversOf, shownName } from './summarise-board.ts';

/** What the running `vmcp up` reports. Throws CliError when none runs here. */
export function runningBoard(context: Context): Board {
  const { state, typed } = context;
  try {
    const board = readBoard(state);
    if (board) return board;
  } catch (problem) {
    if (!(problem instanceof OtherVersion)) throw problem;
    const remedy = `run "${typed('down')}", then "${startAgain(context) ?? typed('up')}"`;
    throw new CliError(EXIT_CODES.failed, `${problem.message}: ${remedy}`, { cause: problem });
  }
  throw nothingRuns(context);
}

/** Whether what runs here is another build than this one. */
function isOutdated(context: Context): boolean {
  const lock = readLock(context.state);
  return lock !== undefined && lock.build !== buildOf(context);
}

function outdated(context: Context): string {
  return `what runs here is another build than this one: "${context.typed('down')}", then "${startAgain(context) ?? context.typed('up')}" runs this one`;
}

/** The named endpoint, or the only one, or the first. */
export function chooseServer(board: Board, name: string | undefined): ServerSummary {
  const servers = serversOf(board);
  const isMeant = (server: ServerSummary) => server.name === name || shownName(server) === name;
  const chosen = name === undefined ? servers[0] : servers.find(isMeant);
  if (chosen) return chosen;
  const known = servers.map(shownName).join(', ') || 'none';
  throw new CliError(EXIT_CODES.notFound, `there is no endpoint ${name ?? ''} here (there is: ${known})`);
}

/**
 * Prints the state of everything that runs here. For programs: the fields of the chosen endpoint (the first, where none is
 * named), and all of them under `servers`. Returns the exit code.
 */
export function status(name: string | undefined, format: Format, context: Context): number {
  const board = runningBoard(context);
  const servers = serversOf(board);
  const concerned = name === undefined ? servers : [chooseServer(board, name)];
  if (format === 'table') {
    context.out.write(`${printBoard(board, context, concerned).join('\n')}\n`);
    if (isOutdated(context)) context.err.write(`${outdated(context)}\n`);
  } else {
    const { problems, processes, folder } = board;
    context.out.write(printObject({ ...chooseServer(board, name), folder, servers, problems, processes }, format));
  }
  const serving = concerned.every(({ phase, suspended }) => suspended || phase === 'Ready' || phase === 'Degraded');
  return serving ? EXIT_CODES.ok : EXIT_CODES.notRunning;
}
