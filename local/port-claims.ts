import { MCPServerSpec, resourceUrlOf, specForOneMachine, transportOf, VirtualMCPServerSpec } from '#crds/kinds/index';
import { isLoopbackHost } from '#crds/parts/private-address';
import { byName } from '#operator/by-name';
import { mayHaveRuntime } from '#operator/plan/child-names';
import { keyText, type LocalFacts, type Manifest, parseKey, type ResourceKey, runtimeName } from '#operator/snapshot';

/** Endpoint of a resource, its private port, or the program of an MCPServer. */
type Role = 'runtime' | 'private' | 'backend';

export interface PortHolder {
  /** Text of the owner's key. */
  owner: string;
  role: Role;
  port: number;
}

interface PortClaim extends PortHolder {
  field: string;
}

function loopbackPort(url: string | undefined): number | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined;
  const { hostname, port } = new URL(url);
  return isLoopbackHost(hostname) && port !== '' ? Number(port) : undefined;
}

type Named = [field: string, port: number | undefined];

function portOfServer(spec: unknown): Named[] {
  const { data } = VirtualMCPServerSpec.safeParse(specForOneMachine(spec));
  if (!data) return [];
  const field =
    data.incomingAuth.resourceUrl === undefined ? 'incomingAuth.oidcConfig.resourceUrl' : 'incomingAuth.resourceUrl';
  return [
    ['listen.port', data.listen?.port],
    [field, loopbackPort(resourceUrlOf(data.incomingAuth))],
  ];
}

function portOfProxy(spec: unknown): Named[] {
  const { data } = MCPServerSpec.safeParse(spec);
  if (!data) return [];
  return [
    ['proxyPort', data.proxyPort],
    ['oidcConfig.resourceUrl', loopbackPort(data.oidcConfig?.resourceUrl)],
    ['oidcConfigRef.resourceUrl', loopbackPort(data.oidcConfigRef?.resourceUrl)],
  ];
}

function claimOfRuntime({ kind, spec }: Manifest): { field: string; port: number } | undefined {
  const named = kind === 'VirtualMCPServer' ? portOfServer(spec) : portOfProxy(spec);
  for (const [field, port] of named) if (port !== undefined) return { field, port };
  return undefined;
}

export function claimedPort(manifest: Manifest): number | undefined {
  return claimOfRuntime(manifest)?.port;
}

/** Returns undefined when the program does not run here, has no port, or is stopped. */
function portOfProgram({ kind, spec }: Manifest): number | undefined {
  const data = kind === 'MCPServer' ? MCPServerSpec.safeParse(spec).data : undefined;
  if (!data?.command || data.remoteUrl !== undefined || data.suspend || transportOf(data) === 'stdio') return undefined;
  return data.mcpPort;
}

const isSuspended = ({ kind, spec }: Manifest): boolean =>
  kind === 'MCPServer' && MCPServerSpec.safeParse(spec).data?.suspend === true;

export function portClaims(manifests: readonly Manifest[]): PortClaim[] {
  return manifests.flatMap((manifest) => {
    const owner = keyText({ kind: manifest.kind, ...manifest.metadata });
    const program = portOfProgram(manifest);
    const runtime = mayHaveRuntime(manifest) && !isSuspended(manifest) ? claimOfRuntime(manifest) : undefined;
    return [
      ...(program === undefined ? [] : [{ owner, role: 'backend' as const, port: program, field: 'mcpPort' }]),
      ...(runtime ? [{ owner, role: 'runtime' as const, ...runtime }] : []),
    ];
  });
}

const OF_ROLE: Record<Role, string> = { runtime: 'its endpoint', private: 'its private port', backend: 'its program' };

function describeHolder(holder: PortHolder & { field?: string }, { namespace }: ResourceKey): string {
  const { kind, name, namespace: other } = parseKey(holder.owner);
  const where = other === namespace ? '' : ` of namespace ${other}`;
  return `${kind} "${name}"${where} (${holder.field ?? OF_ROLE[holder.role]})`;
}

export type PortConflicts = NonNullable<LocalFacts['portConflicts']>;

/** Keeps the port of a running process; otherwise prefers the first resource in manifest order. */
export function findPortConflicts(
  claims: readonly PortClaim[],
  running: readonly PortHolder[],
): Map<string, PortConflicts> {
  const holders = new Map<number, PortHolder & { field?: string }>(running.map((one) => [one.port, one]));
  const found = new Map<string, Record<'runtimes' | 'programs', [string, string][]>>();
  for (const claim of claims) {
    const holder = holders.get(claim.port);
    if (!holder || (holder.owner === claim.owner && holder.role === claim.role)) {
      holders.set(claim.port, claim);
      continue;
    }
    const key = parseKey(claim.owner);
    const message = `${claim.field}: port ${claim.port} is in use by ${describeHolder(holder, key)}: write another port`;
    const ofNamespace = found.get(key.namespace) ?? { runtimes: [], programs: [] };
    found.set(key.namespace, ofNamespace);
    if (claim.role === 'backend') ofNamespace.programs.push([key.name, message]);
    else ofNamespace.runtimes.push([runtimeName(key), message]);
  }
  return new Map(
    [...found].map(([namespace, { runtimes, programs }]) => [
      namespace,
      { runtimes: byName(runtimes), programs: byName(programs) },
    ]),
  );
}
