import type { Snapshot } from '#operator/snapshot';

/** Returns a snapshot for tests with only the given fields. */
export function emptySnapshot(fields: Pick<Snapshot, 'platform'> & Partial<Snapshot>): Snapshot {
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
