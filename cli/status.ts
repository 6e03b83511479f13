import { readLock } from '#local/lock';
import type { LocalStatus } from '#local/local-status-file';
import { buildOf } from './build-of.ts';
import type { Context, RecordFormat } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { findLocalStatus } from './find-local-status.ts';
import { isCluster, type ServerOptions } from './management/target.ts';
import { startAgain } from './nothing-runs.ts';
import { printObject } from './print-object.ts';
import {
  isServed,
  printLocalStatus,
  type ServerSummary,
  serversOf,
  type ShownStatus,
  shownName,
  withUnoffered,
} from './summarise-status.ts';

function isOutdated(context: Context): boolean {
  const lock = readLock(context.state);
  return lock !== undefined && lock.build !== buildOf(context);
}

function outdated(context: Context): string {
  return `what runs here is another build than this one: "${context.typed('down')}", then "${startAgain(context) ?? context.typed('up')}" runs this one`;
}

export function chooseServer(localStatus: Pick<LocalStatus, 'resources'>, name: string | undefined): ServerSummary {
  const servers = serversOf(localStatus);
  const isMeant = (server: ServerSummary) => server.name === name || shownName(server) === name;
  const chosen = name === undefined ? servers[0] : servers.find(isMeant);
  if (chosen) return chosen;
  const known = servers.map(shownName).join(', ') || 'none';
  throw new CliError(EXIT_CODES.notFound, `there is no endpoint ${name ?? ''} here (there is: ${known})`);
}

/** Programs get the fields of the chosen (default: first) endpoint, and all endpoints under `servers`. */
export async function status(
  name: string | undefined,
  options: ServerOptions & { output: RecordFormat },
  context: Context,
): Promise<number> {
  const localStatus = await everythingOf(options, context);
  const servers = serversOf(localStatus);
  const concerned = name === undefined ? servers : [chooseServer(localStatus, name)];
  const { output: format } = options;
  if (format === 'table') {
    context.out.write(`${printLocalStatus(localStatus, context, concerned).join('\n')}\n`);
    if (localStatus.folder !== undefined && isOutdated(context)) context.err.write(`${outdated(context)}\n`);
  } else if (format === 'name') {
    context.out.write(concerned.map((server) => `${shownName(server)}\n`).join(''));
  } else {
    const { problems, processes, folder } = localStatus;
    const where = folder === undefined ? {} : { folder };
    context.out.write(
      printObject({ ...chooseServer(localStatus, name), ...where, servers, problems, processes }, format),
    );
  }
  return concerned.every(isServed) ? EXIT_CODES.ok : EXIT_CODES.notRunning;
}

/** Includes a cluster's MCPServers without an endpoint, because no other status lists them. */
async function everythingOf(options: ServerOptions, context: Context): Promise<ShownStatus> {
  const localStatus = await findLocalStatus(options, context);
  if (!isCluster(options)) return localStatus;
  if (localStatus.resources.length > 0) return withUnoffered(localStatus);
  const namespace = options.namespace === undefined ? 'this namespace' : `namespace ${options.namespace}`;
  const remedy = `name another one with -n, or start a server with "${context.typed("run '<source>'")}"`;
  throw new CliError(EXIT_CODES.notRunning, `there is no VirtualMCPServer and no MCPServer in ${namespace}: ${remedy}`);
}
