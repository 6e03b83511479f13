import type { Condition, Phase } from '#crds/parts/conditions';
import type { LocalStatus, Listen } from '#local/local-status-file';
import { isPerUser } from '#operator/plan/summarise-backends';
import { printProblem } from './check-folder.ts';
import type { Context } from './context.ts';
import { printTable } from './print-records.ts';

/** A namespace of a cluster has no folder. */
export type ShownStatus = Pick<LocalStatus, 'resources' | 'problems' | 'processes'> &
  Partial<Pick<LocalStatus, 'folder'>>;

/** The form of `vmcp status -o json`. */
export interface ServerSummary {
  kind: 'VirtualMCPServer' | 'MCPServer';
  name: string;
  namespace: string;
  phase: Phase;
  suspended: boolean;
  /** Null until it is known, and while it is stopped. */
  endpoint: string | null;
  /** `address` for clients, `privateAddress` for health and metrics. */
  listen: Listen | null;
  tools: number | null;
  backends: {
    name: string;
    phase: string;
    tools: number | null;
    auth: string;
    url: string;
    message: string;
    /** Extensions of MCP that it offers: tasks, apps. */
    extensions: string[];
    /** Null: no login is needed. Otherwise, a user logs in here for all callers. */
    loginUrl: string | null;
  }[];
  /** To enter at each upstream provider; empty without an authorization server. */
  redirectUris: Record<string, string>;
  conditions: Condition[];
}

/** An MCPServer's own endpoint may have the name of a VirtualMCPServer. */
export function shownName({ kind, name }: Pick<ServerSummary, 'kind' | 'name'>): string {
  return kind === 'VirtualMCPServer' ? name : `${kind}/${name}`;
}

function orderOf({ kind, namespace, name }: ServerSummary): string {
  return `${kind === 'VirtualMCPServer' ? 0 : 1} ${namespace}/${name}`;
}

function isSuspended(conditions: Condition[]): boolean {
  return conditions.some(({ type, reason }) => type === 'Ready' && reason === 'Suspended');
}

/** Counts a partly serving endpoint, and one that a user has stopped. */
export function isServed({ phase, suspended }: ServerSummary): boolean {
  return suspended || phase === 'Ready' || phase === 'Degraded';
}

export function serversOf(localStatus: Pick<LocalStatus, 'resources'>): ServerSummary[] {
  return localStatus.resources
    .filter(({ isEndpoint }) => isEndpoint)
    .map(({ key: { kind, name, namespace }, status, listen }) => ({
      suspended: isSuspended(status.conditions),
      kind: kind === 'MCPServer' ? kind : ('VirtualMCPServer' as const),
      name,
      namespace,
      phase: status.phase,
      endpoint: isSuspended(status.conditions) ? null : (status.url ?? null),
      listen: listen ?? null,
      tools: status.toolCount ?? null,
      backends: (status.backends ?? []).map((backend) => ({
        name: backend.name,
        phase: backend.phase,
        tools: backend.tools ?? null,
        auth: backend.authType ?? '',
        url: backend.url ?? '',
        message: backend.message,
        extensions: backend.extensions ?? [],
        loginUrl: backend.loginUrl ?? null,
      })),
      redirectUris: status.redirectUris ?? {},
      conditions: status.conditions,
    }))
    .sort((a, b) => orderOf(a).localeCompare(orderOf(b)));
}

/** Adds MCPServers that no VirtualMCPServer reports: no other status shows them. */
export function withUnoffered(localStatus: ShownStatus): ShownStatus {
  const offered = new Set(localStatus.resources.flatMap(({ status }) => status.backends ?? []).map(({ name }) => name));
  const resources = localStatus.resources.map((one) => ({
    ...one,
    isEndpoint: one.isEndpoint || !offered.has(one.key.name),
  }));
  return { ...localStatus, resources };
}

export function remarksOf({ conditions }: ServerSummary): Condition[] {
  return conditions.filter(({ type, status, reason }) => {
    if (type === 'Stalled' || type === 'Waiting') return false;
    if (type === 'Ready') return status !== 'True' && reason !== 'RuntimeNotReady';
    // The list of backends shows it for each backend.
    if (type === 'AllBackendsReady') return false;
    if (type === 'BackendsResolved') return status !== 'True';
    return status === 'True';
  });
}

type Progress = 'stuck' | 'starting' | 'partly' | 'uncounted' | 'incomplete' | 'serving';

export function leftOut({ backends }: ServerSummary): string[] {
  return backends.filter(({ phase }) => phase === 'Excluded').map(({ name }) => name);
}

/** Checks in this order: waits for the user, starts, serves in part, tools not counted, failed backends, serves. */
export function progressOf(server: ServerSummary): Progress {
  const { phase, suspended, conditions, backends } = server;
  if (suspended) return 'serving';
  const is = (type: string): boolean =>
    conditions.some((condition) => condition.type === type && condition.status === 'True');
  if (phase === 'Failed' || (phase === 'Pending' && (is('Stalled') || is('Waiting')))) return 'stuck';
  if (phase === 'Pending' || backends.some((backend) => backend.phase === 'Unknown')) return 'starting';
  if (backends.some((backend) => backend.phase === 'Unavailable')) return 'partly';
  const counted = backends.every(
    (backend) => backend.phase !== 'Ready' || backend.tools !== null || isPerUser(backend.auth),
  );
  if (!counted) return 'uncounted';
  return leftOut(server).length > 0 ? 'incomplete' : 'serving';
}

function backendRows(server: ServerSummary): string[] {
  const rows = server.backends.map((backend) => [
    backend.name,
    backend.phase,
    backend.tools === null ? '-' : String(backend.tools),
    backend.auth,
    backend.message,
  ]);
  if (rows.length === 0) return [];
  return printTable([['BACKEND', 'STATE', 'TOOLS', 'AUTH', 'REASON'], ...rows]).map((line) => `  ${line}`);
}

function loginRows({ backends }: ServerSummary, { typed }: Pick<Context, 'typed'>, isHere: boolean): string[] {
  return backends
    .filter(({ loginUrl }) => loginUrl !== null)
    .map(({ name, loginUrl }) => {
      const command = isHere ? `${typed(`login ${name}`)}, or ` : '';
      return `  ! log in at ${name}: ${command}open ${loginUrl ?? ''}`;
    });
}

function providerRows({ redirectUris }: ServerSummary): string[] {
  const rows = Object.entries(redirectUris);
  return rows.length === 0 ? [] : printTable([['PROVIDER', 'REDIRECT URI'], ...rows]).map((line) => `  ${line}`);
}

/** The total excludes tools that a backend lists per user. */
function describeTools(count: number, { backends }: ServerSummary): string {
  const perUser = backends.filter(({ auth }) => isPerUser(auth)).map(({ name }) => name);
  return perUser.length === 0
    ? `${count} tools`
    : `${count} tools for everybody, more by user of ${perUser.join(', ')}`;
}

function printServer(server: ServerSummary, context: Pick<Context, 'typed'>, isHere: boolean): string[] {
  const tools = server.tools === null ? '' : `  ${describeTools(server.tools, server)}`;
  const remarks = remarksOf(server).map(({ reason, message }) => `  ! ${reason}: ${message}`);
  const { listen } = server;
  return [
    `${shownName(server)}  ${server.phase}  ${server.endpoint ?? ''}${tools}`.trimEnd(),
    ...(listen ? [`  listens on ${listen.address}, with health and metrics on ${listen.privateAddress}`] : []),
    ...backendRows(server),
    ...providerRows(server),
    ...loginRows(server, context, isHere),
    ...remarks,
  ];
}

export function printLocalStatus(
  localStatus: ShownStatus,
  context: Pick<Context, 'typed'>,
  servers = serversOf(localStatus),
): string[] {
  const { typed } = context;
  const isHere = localStatus.folder !== undefined;
  const problems = localStatus.problems.map((problem) => `! ${printProblem(problem)}`);
  const waiting = localStatus.processes
    .filter(({ state }) => state === 'waiting')
    .map(({ name, lastEnd }) => `! ${name} ${lastEnd ?? ''}; it is started again (${typed(`logs ${name}`)})`);
  return [...servers.flatMap((server) => [...printServer(server, context, isHere), '']), ...problems, ...waiting];
}
