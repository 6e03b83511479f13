import type { World } from '#operator/world';

/** Returns a snapshot for tests with only the given fields. */
export function emptyWorld(fields: Pick<World, 'platform'> & Partial<World>): World {
  return {
    namespace: 'default',
    apiGroup: 'vmcp.dev',
    virtualMcpServers: {},
    mcpGroups: {},
    mcpServers: {},
    mcpExternalAuthConfigs: {},
    mcpOidcConfigs: {},
    secrets: {},
    configMaps: {},
    generated: {},
    documents: {},
    observed: {},
    ...fields,
  };
}
