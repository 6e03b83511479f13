import { readLock } from '#local/lock';
import type { Board } from '#local/status-board';
import { buildOf } from './build-of.ts';
import type { Context, RecordFormat } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { findBoard } from './find-board.ts';
import { isCluster, type PlaceOptions } from './management/target.ts';
import { startAgain } from './nothing-runs.ts';
import { printObject } from './print-object.ts';
import {
  isServed,
  printBoard,
  type ServerSummary,
  serversOf,
  type ShownBoard,
  shownName,
  withUnoffered,
} from './summarise-board.ts';

/** Returns whether the running build differs from this one. */
function isOutdated(context: Context): boolean {
  const lock = readLock(context.state);
  return lock !== undefined && lock.build !== buildOf(context);
}

function outdated(context: Context): string {
  return `what runs here is another build than this one: "${context.typed('down')}", then "${startAgain(context) ?? context.typed('up')}" runs this one`;
}

/** Returns the named endpoint, or the first one. */
export function chooseServer(board: Pick<Board, 'resources'>, name: string | undefined): ServerSummary {
  const servers = serversOf(board);
  const isMeant = (server: ServerSummary) => server.name === name || shownName(server) === name;
  const chosen = name === undefined ? servers[0] : servers.find(isMeant);
  if (chosen) return chosen;
  const known = servers.map(shownName).join(', ') || 'none';
  throw new CliError(EXIT_CODES.notFound, `there is no endpoint ${name ?? ''} here (there is: ${known})`);
}

/**
 * Prints the state of all local resources, or of a namespace of a cluster. For programs, it prints the fields of the chosen (default:
 * first) endpoint, and all endpoints under `servers`. Returns the exit code.
 */
export async function status(
  name: string | undefined,
  options: PlaceOptions & { output: RecordFormat },
  context: Context,
): Promise<number> {
  const board = await everythingOf(options, context);
  const servers = serversOf(board);
  const concerned = name === undefined ? servers : [chooseServer(board, name)];
  const { output: format } = options;
  if (format === 'table') {
    context.out.write(`${printBoard(board, context, concerned).join('\n')}\n`);
    if (board.folder !== undefined && isOutdated(context)) context.err.write(`${outdated(context)}\n`);
  } else if (format === 'name') {
    context.out.write(concerned.map((server) => `${shownName(server)}\n`).join(''));
  } else {
    const { problems, processes, folder } = board;
    const where = folder === undefined ? {} : { folder };
    context.out.write(printObject({ ...chooseServer(board, name), ...where, servers, problems, processes }, format));
  }
  return concerned.every(isServed) ? EXIT_CODES.ok : EXIT_CODES.notRunning;
}

/** Returns the board. In a cluster it includes MCPServers without an endpoint, because no other status lists them. */
async function everythingOf(options: PlaceOptions, context: Context): Promise<ShownBoard> {
  const board = await findBoard(options, context);
  if (!isCluster(options)) return board;
  if (board.resources.length > 0) return withUnoffered(board);
  const namespace = options.namespace === undefined ? 'this namespace' : `namespace ${options.namespace}`;
  const remedy = `name another one with -n, or start a server with "${context.typed("run '<source>'")}"`;
  throw new CliError(EXIT_CODES.notRunning, `there is no VirtualMCPServer and no MCPServer in ${namespace}: ${remedy}`);
}
