import { VERSION } from '#crds/kinds/index';
import { valueAt } from '#crds/parts/rule';
import type { Kind, Manifest, SecretDigests, Snapshot } from '#operator/snapshot';
import { everyName } from '../observe/every-name.ts';

/** Placeholder for a digest, as nothing is rendered permanently. */
const DIGEST = '0'.repeat(16);

/** Placeholder for an issuer that nothing names. */
const SOME_ISSUER = 'https://issuer.example';

function shared(kind: Kind, spec: object, snapshot: Snapshot): (name: string) => Manifest {
  const apiVersion = `${snapshot.apiGroup}/${VERSION}`;
  return (name) => ({ apiVersion, kind, metadata: { name, namespace: snapshot.namespace, uid: name }, spec });
}

function configMapText(spec: unknown, name: string): string | undefined {
  // The validity of a profile depends on its whole text, so no content can be assumed.
  if (valueAt(spec, ['permissionProfile', 'name']) === name) return undefined;
  const places = [['incomingAuth', 'oidcConfig'], ['oidcConfig']];
  const issuer = places.some((place) => valueAt(spec, [...place, 'configMap', 'name']) === name);
  return issuer ? JSON.stringify({ issuer: ownIssuer(spec) }) : '{}';
}

function ownIssuer(spec: unknown): string {
  const issuer = valueAt(spec, ['authServerConfig', 'issuer']);
  return typeof issuer === 'string' ? issuer : SOME_ISSUER;
}

/** Returns the snapshot without the operator's observations, which do not concern the author of a resource. */
export function withoutOperation(snapshot: Snapshot): Snapshot {
  const { platform } = snapshot;
  const known = platform.mode === 'cluster' ? { keySet: { keys: [] }, issuer: SOME_ISSUER, ...platform } : platform;
  return {
    ...snapshot,
    platform: known,
    generated: everyName(() => everyName(() => DIGEST)),
    documents: everyName<never>(() => undefined),
    observed: everyName<never>(() => undefined),
    deployments: everyName<never>(() => undefined),
  };
}

/** Returns a snapshot in which all references of a resource suit it: if rejected there, it is invalid in any cluster and any order. */
export function permissiveSnapshot(manifest: Manifest, snapshot: Snapshot): Snapshot {
  const { spec } = manifest;
  const digests = everyName(() => DIGEST) satisfies SecretDigests;
  const only = (kind: Kind) => (manifest.kind === kind ? { [manifest.metadata.name]: manifest } : {});
  const others = <T extends object>(kind: Kind, assumed: T) => (manifest.kind === kind ? only(kind) : assumed);
  return {
    ...withoutOperation(snapshot),
    virtualMcpServers: only('VirtualMCPServer'),
    mcpServers: only('MCPServer'),
    mcpGroups: others('MCPGroup', everyName(shared('MCPGroup', {}, snapshot))),
    mcpExternalAuthConfigs: others(
      'MCPExternalAuthConfig',
      everyName(shared('MCPExternalAuthConfig', { type: 'unauthenticated' }, snapshot)),
    ),
    mcpOidcConfigs: others(
      'MCPOIDCConfig',
      everyName(shared('MCPOIDCConfig', { type: 'inline', inline: { issuer: ownIssuer(spec) } }, snapshot)),
    ),
    secrets: everyName(() => digests),
    configMaps: everyName((name) => {
      const text = configMapText(spec, name);
      return text === undefined ? undefined : everyName(() => text);
    }),
  };
}

function assumed<T extends object>(known: Record<string, T>, entryOf: (name: string) => T | undefined) {
  const missing = (_target: object, name: string | symbol): T | undefined =>
    typeof name === 'string' && !Object.hasOwn(known, name) ? entryOf(name) : undefined;
  return new Proxy(known, {
    get: (target, name) => missing(target, name) ?? (Reflect.get(target, name) as T | undefined),
    has: (target, name) => missing(target, name) !== undefined || Reflect.has(target, name),
    getOwnPropertyDescriptor(target, name) {
      const value = missing(target, name);
      if (value === undefined) return Reflect.getOwnPropertyDescriptor(target, name);
      return { value, enumerable: false, configurable: true, writable: true };
    },
  });
}

/** Returns a snapshot with all references of a resource. Missing objects may follow in the same file; the status reports them later. */
export function completedSnapshot({ spec }: Pick<Manifest, 'spec'>, snapshot: Snapshot): Snapshot {
  const digests = everyName(() => DIGEST) satisfies SecretDigests;
  const issuer = { type: 'inline', inline: { issuer: ownIssuer(spec) } };
  return {
    ...snapshot,
    mcpGroups: assumed(snapshot.mcpGroups, shared('MCPGroup', {}, snapshot)),
    mcpExternalAuthConfigs: assumed(
      snapshot.mcpExternalAuthConfigs,
      shared('MCPExternalAuthConfig', { type: 'unauthenticated' }, snapshot),
    ),
    mcpOidcConfigs: assumed(snapshot.mcpOidcConfigs, shared('MCPOIDCConfig', issuer, snapshot)),
    secrets: assumed(snapshot.secrets, () => digests),
    configMaps: assumed(snapshot.configMaps, (name) => {
      const text = configMapText(spec, name);
      return text === undefined ? undefined : everyName(() => text);
    }),
  };
}

/** Adds a server in front of an MCPServer's group. Its faults concerning the backend are the backend's. */
export function withServerInFront(
  snapshot: Snapshot,
  backend: Manifest,
): { snapshot: Snapshot; server: string } | undefined {
  const group = valueAt(backend.spec, ['groupRef']);
  if (backend.kind !== 'MCPServer' || typeof group !== 'string') return undefined;
  const server = 'in-front';
  const spec = { config: { groupRef: group }, incomingAuth: incomingAuthOf(backend.spec) };
  const manifest = shared('VirtualMCPServer', spec, snapshot)(server);
  return { server, snapshot: { ...snapshot, virtualMcpServers: { [server]: manifest } } };
}

function incomingAuthOf(spec: unknown): object {
  const fields = ['oidcConfig', 'oidcConfigRef'].flatMap((field) => {
    const value = valueAt(spec, [field]);
    return value === undefined ? [] : [[field, value] as const];
  });
  return fields.length === 0 ? { type: 'anonymous' } : { type: 'oidc', ...Object.fromEntries(fields) };
}
