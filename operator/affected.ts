import { valueAt } from '#crds/parts/rule';
import { awaitsRestart } from '#operator/plan/carried-out-restart';
import { groupOf, memberNames } from '#operator/plan/find-group-members';
import { isIndexed, resourcesNaming, resourcesNamingInStatus } from '#operator/plan/resource-index';
import { keyText, type Manifest, type ResourceKey, type Snapshot } from '#operator/snapshot';

class Keys {
  readonly #found = new Map<string, ResourceKey>();
  readonly #namespace: string;
  constructor(namespace: string) {
    this.#namespace = namespace;
  }
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

/** Adds the servers that serve this backend: those of its group, and those whose active document contains it. */
function addServersOfBackend(backend: string, snapshot: Snapshot, keys: Keys): void {
  const servers = snapshot.virtualMcpServers;
  // A status names every backend of the document: an index of statuses makes reading the documents unnecessary.
  const known = resourcesNamingInStatus(servers, backend);
  const serving = isIndexed(servers)
    ? []
    : Object.values(servers).filter((server) => serves(server, backend, snapshot));
  const group = groupOf(snapshot.mcpServers[backend]?.spec);
  const joined = group !== undefined && snapshot.mcpGroups[group] ? resourcesNaming(servers, group) : [];
  for (const { metadata } of [...known, ...serving, ...joined]) keys.add('VirtualMCPServer', metadata.name);
}

function serves({ metadata }: Manifest, backend: string, snapshot: Snapshot): boolean {
  return snapshot.documents[metadata.name]?.includes(backend) ?? false;
}

function addBackend(name: string, snapshot: Snapshot, keys: Keys): void {
  keys.add('MCPServer', name);
  addServersOfBackend(name, snapshot, keys);
}

/** Adds all resources that name a Secret, a ConfigMap or a shared configuration, and the servers that use those resources. */
function addUsers(name: string, snapshot: Snapshot, keys: Keys): void {
  for (const {
    metadata: { name: server },
  } of resourcesNaming(snapshot.virtualMcpServers, name))
    keys.add('VirtualMCPServer', server);
  for (const {
    metadata: { name: backend },
  } of resourcesNaming(snapshot.mcpServers, name))
    addBackend(backend, snapshot, keys);
  for (const {
    metadata: { name: config },
  } of resourcesNaming(snapshot.mcpOidcConfigs, name)) {
    if (keys.add('MCPOIDCConfig', config)) addUsers(config, snapshot, keys);
  }
  for (const {
    metadata: { name: config },
  } of resourcesNaming(snapshot.mcpExternalAuthConfigs, name)) {
    if (keys.add('MCPExternalAuthConfig', config)) addUsers(config, snapshot, keys);
  }
}

/** Adds the shared resources that this one names or named: their status lists their users. */
function addUsed(name: string, manifest: Manifest | undefined, snapshot: Snapshot, keys: Keys): void {
  const kinds = [
    ['MCPGroup', snapshot.mcpGroups],
    ['MCPExternalAuthConfig', snapshot.mcpExternalAuthConfigs],
    ['MCPOIDCConfig', snapshot.mcpOidcConfigs],
  ] as const;
  const named = textsIn(manifest?.spec);
  for (const [kind, resources] of kinds) {
    for (const text of named) if (Object.hasOwn(resources, text)) keys.add(kind, text);
    for (const { metadata } of resourcesNamingInStatus(resources, name)) keys.add(kind, metadata.name);
  }
}

/** Adds the backends that joined or left the group of a server since their last status: their NetworkPolicy must change. */
function addAdmitting(server: string, snapshot: Snapshot, keys: Keys): void {
  if (snapshot.platform.mode !== 'cluster') return;
  const group = valueAt(snapshot.virtualMcpServers[server]?.spec, ['config', 'groupRef']);
  const joined = new Set(typeof group === 'string' ? memberNames(group, snapshot) : []);
  const known = new Set(resourcesNamingInStatus(snapshot.mcpServers, server).map(({ metadata }) => metadata.name));
  for (const name of joined) if (!known.has(name)) keys.add('MCPServer', name);
  for (const name of known) if (!joined.has(name)) keys.add('MCPServer', name);
}

/** Adds the programs that the local runtime of a server has to restart. In a cluster, the programs have pods of their own. */
function addRestarting({ platform, mcpServers }: Snapshot, keys: Keys): void {
  if (platform.mode !== 'local') return;
  for (const manifest of Object.values(mcpServers))
    if (awaitsRestart(manifest)) keys.add('MCPServer', manifest.metadata.name);
}

/** Returns all texts in a value. Surplus names are harmless: an unnecessary key changes nothing. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** Returns the resources whose plan may change after this one appeared, changed or was deleted. */
export function affected(change: ResourceKey, snapshot: Snapshot): ResourceKey[] {
  const keys = new Keys(change.namespace);
  const { kind, name } = change;
  if (kind !== 'Secret' && kind !== 'ConfigMap') keys.add(kind, name);
  switch (kind) {
    case 'VirtualMCPServer':
      addUsed(name, snapshot.virtualMcpServers[name], snapshot, keys);
      addAdmitting(name, snapshot, keys);
      addRestarting(snapshot, keys);
      break;
    case 'MCPServer':
      addBackend(name, snapshot, keys);
      addUsed(name, snapshot.mcpServers[name], snapshot, keys);
      break;
    default:
      addUsers(name, snapshot, keys);
  }
  return keys.all();
}
