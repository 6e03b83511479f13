import type { KindName } from '#crds/kinds/index';

/** Returns an object without a prototype: a resource may be named `constructor`, which every plain object has. */
export function byName<T>(entries: Iterable<readonly [string, T]>): Record<string, T> {
  return Object.setPrototypeOf(Object.fromEntries(entries), null) as Record<string, T>;
}

/** Returns the resources of a snapshot, per kind. */
export const resourcesBy = <T>(ofKind: (kind: KindName) => Record<string, T>) => ({
  virtualMcpServers: ofKind('VirtualMCPServer'),
  mcpGroups: ofKind('MCPGroup'),
  mcpServers: ofKind('MCPServer'),
  mcpExternalAuthConfigs: ofKind('MCPExternalAuthConfig'),
  mcpOidcConfigs: ofKind('MCPOIDCConfig'),
});
