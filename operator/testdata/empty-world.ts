import type { World } from '#operator/world';

/** A world for tests: nothing is in it but what they say. */
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
