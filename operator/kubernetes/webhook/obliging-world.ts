import { VERSION } from '#crds/kinds/index';
import { valueAt } from '#crds/parts/rule';
import type { Kind, Manifest, SecretDigests, World } from '#operator/world';
import { everyName } from '../observe/every-name.ts';

/** Stands for a digest: nothing is rendered for good. */
const DIGEST = '0'.repeat(16);

/** Where an issuer is meant and nothing says which. */
const SOME_ISSUER = 'https://issuer.example';

function shared(kind: Kind, spec: object, world: World): (name: string) => Manifest {
  const apiVersion = `${world.apiGroup}/${VERSION}`;
  return (name) => ({ apiVersion, kind, metadata: { name, namespace: world.namespace, uid: name }, spec });
}

/** What a ConfigMap of an unknown content may say without being at fault. */
function configMapText(spec: unknown, name: string): string | undefined {
  // Whether a profile is valid depends on all of it, so there is nothing to assume.
  if (valueAt(spec, ['permissionProfile', 'name']) === name) return undefined;
  const places = [['incomingAuth', 'oidcConfig'], ['oidcConfig']];
  const issuer = places.some((place) => valueAt(spec, [...place, 'configMap', 'name']) === name);
  return issuer ? JSON.stringify({ issuer: ownIssuer(spec) }) : '{}';
}

function ownIssuer(spec: unknown): string {
  const issuer = valueAt(spec, ['authServerConfig', 'issuer']);
  return typeof issuer === 'string' ? issuer : SOME_ISSUER;
}

/** The world without what the operator does and sees while it serves: none of it is for whoever writes a resource. */
export function withoutOperation(world: World): World {
  const { platform } = world;
  const known = platform.mode === 'cluster' ? { keySet: { keys: [] }, issuer: SOME_ISSUER, ...platform } : platform;
  return {
    ...world,
    platform: known,
    generated: everyName(() => everyName(() => DIGEST)),
    documents: everyName<never>(() => undefined),
    observed: everyName<never>(() => undefined),
    deployments: everyName<never>(() => undefined),
  };
}

/**
 * A world in which the given resource alone can be at fault: everything that it refers to is there and says what suits it.
 * So what the plan refuses there is wrong whatever else exists, and in whichever order resources are applied.
 */
export function obligingWorld(manifest: Manifest, world: World): World {
  const { spec } = manifest;
  const digests = everyName(() => DIGEST) satisfies SecretDigests;
  const only = (kind: Kind) => (manifest.kind === kind ? { [manifest.metadata.name]: manifest } : {});
  const others = <T extends object>(kind: Kind, assumed: T) => (manifest.kind === kind ? only(kind) : assumed);
  return {
    ...withoutOperation(world),
    virtualMcpServers: only('VirtualMCPServer'),
    mcpServers: only('MCPServer'),
    mcpGroups: others('MCPGroup', everyName(shared('MCPGroup', {}, world))),
    mcpExternalAuthConfigs: others(
      'MCPExternalAuthConfig',
      everyName(shared('MCPExternalAuthConfig', { type: 'unauthenticated' }, world)),
    ),
    mcpOidcConfigs: others(
      'MCPOIDCConfig',
      everyName(shared('MCPOIDCConfig', { type: 'inline', inline: { issuer: ownIssuer(spec) } }, world)),
    ),
    secrets: everyName(() => digests),
    configMaps: everyName((name) => {
      const text = configMapText(spec, name);
      return text === undefined ? undefined : everyName(() => text);
    }),
  };
}

/** The record with an entry for each name that it has not. */
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

/**
 * The world in which everything that a resource names is there: what is not there may follow in the same file, so nobody is warned of it
 * while the file is applied. The status says what is still missing.
 */
export function completedWorld({ spec }: Pick<Manifest, 'spec'>, world: World): World {
  const digests = everyName(() => DIGEST) satisfies SecretDigests;
  const issuer = { type: 'inline', inline: { issuer: ownIssuer(spec) } };
  return {
    ...world,
    mcpGroups: assumed(world.mcpGroups, shared('MCPGroup', {}, world)),
    mcpExternalAuthConfigs: assumed(
      world.mcpExternalAuthConfigs,
      shared('MCPExternalAuthConfig', { type: 'unauthenticated' }, world),
    ),
    mcpOidcConfigs: assumed(world.mcpOidcConfigs, shared('MCPOIDCConfig', issuer, world)),
    secrets: assumed(world.secrets, () => digests),
    configMaps: assumed(world.configMaps, (name) => {
      const text = configMapText(spec, name);
      return text === undefined ? undefined : everyName(() => text);
    }),
  };
}

/** A server that offers the group of an MCPServer, to the callers of the MCPServer's own endpoint: what it says of its backend is the backend's fault. */
export function withServerInFront(world: World, backend: Manifest): { world: World; server: string } | undefined {
  const group = valueAt(backend.spec, ['groupRef']);
  if (backend.kind !== 'MCPServer' || typeof group !== 'string') return undefined;
  const server = 'in-front';
  const spec = { config: { groupRef: group }, incomingAuth: incomingAuthOf(backend.spec) };
  const manifest = shared('VirtualMCPServer', spec, world)(server);
  return { server, world: { ...world, virtualMcpServers: { [server]: manifest } } };
}

function incomingAuthOf(spec: unknown): object {
  const fields = ['oidcConfig', 'oidcConfigRef'].flatMap((field) => {
    const value = valueAt(spec, [field]);
    return value === undefined ? [] : [[field, value] as const];
  });
  return fields.length === 0 ? { type: 'anonymous' } : { type: 'oidc', ...Object.fromEntries(fields) };
}
