import { rivals } from '#operator/plan/check-child-names';
import { keyText, type Manifest, type ResourceKey, type World } from '#operator/world';

/** Whether a name stands anywhere in a value. Names too many are harmless: a key that need not be worked on changes nothing. */
function mentions(value: unknown, name: string): boolean {
  if (typeof value === 'string') return value === name;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((inside) => mentions(inside, name));
}

function namesIn(resources: Record<string, Manifest>, name: string): string[] {
  return Object.values(resources)
    .filter((resource) => mentions(resource.spec, name))
    .map((resource) => resource.metadata.name);
}

class Keys {
  readonly #found = new Map<string, ResourceKey>();
  readonly #namespace: string;
  constructor(namespace: string) {
    this.#namespace = namespace;
  }
  /** Whether it is new. */
  add(kind: ResourceKey['kind'], name: string): boolean {
    const key = { kind, namespace: this.#namespace, name };
    if (this.#found.has(keyText(key))) return false;
    this.#found.set(keyText(key), key);
    return true;
  }
  all(): ResourceKey[] {
    return [...this.#found.values()];
  }
}

/** The servers that serve this backend: of its group now, or with it in the document in force. */
function addServersOfBackend(backend: string, world: World, keys: Keys): void {
  const manifest = world.mcpServers[backend];
  for (const server of Object.values(world.virtualMcpServers)) {
    const name = server.metadata.name;
    const serves = world.documents[name]?.backends.some((entry) => entry.name === backend) ?? false;
    const known = mentions((server.status as { backends?: unknown } | undefined)?.backends, backend);
    const joins = Object.values(world.mcpGroups).some(
      ({ metadata }) => mentions(server.spec, metadata.name) && mentions(manifest?.spec, metadata.name),
    );
    if (serves || known || joins) keys.add('VirtualMCPServer', name);
  }
}

function addBackend(name: string, world: World, keys: Keys): void {
  keys.add('MCPServer', name);
  addServersOfBackend(name, world, keys);
}

/** All that name a Secret, a ConfigMap or a shared configuration, and the servers in front of those. */
function addUsers(name: string, world: World, keys: Keys): void {
  for (const server of namesIn(world.virtualMcpServers, name)) keys.add('VirtualMCPServer', server);
  for (const backend of namesIn(world.mcpServers, name)) addBackend(backend, world, keys);
  for (const config of namesIn(world.mcpOidcConfigs, name)) {
    if (keys.add('MCPOIDCConfig', config)) addUsers(config, world, keys);
  }
  for (const config of namesIn(world.mcpExternalAuthConfigs, name)) {
    if (keys.add('MCPExternalAuthConfig', config)) addUsers(config, world, keys);
  }
}

/** Shared resources that this one names or named: their status lists who uses them. */
function addUsed(name: string, manifest: Manifest | undefined, world: World, keys: Keys): void {
  const kinds = [
    ['MCPGroup', world.mcpGroups],
    ['MCPExternalAuthConfig', world.mcpExternalAuthConfigs],
    ['MCPOIDCConfig', world.mcpOidcConfigs],
  ] as const;
  for (const [kind, resources] of kinds) {
    for (const shared of Object.values(resources)) {
      const used = mentions(manifest?.spec, shared.metadata.name) || mentions(shared.status, name);
      if (used) keys.add(kind, shared.metadata.name);
    }
  }
}

/** The resources whose plan may come out differently because this one appeared, changed or went. */
export function affected(change: ResourceKey, world: World): ResourceKey[] {
  const keys = new Keys(change.namespace);
  const { kind, name } = change;
  if (kind !== 'Secret' && kind !== 'ConfigMap') keys.add(kind, name);
  for (const rival of rivals(change, world)) keys.add(rival.kind, rival.name);
  switch (kind) {
    case 'VirtualMCPServer':
      addUsed(name, world.virtualMcpServers[name], world, keys);
      break;
    case 'MCPServer':
      addBackend(name, world, keys);
      addUsed(name, world.mcpServers[name], world, keys);
      break;
    default:
      addUsers(name, world, keys);
  }
  return keys.all();
}
