/** A request of an operation with valid content: path, query and body. */
export interface Sample {
  path: string;
  body?: unknown;
}

const CLIENT = { name: 'cursor', groups: [] };
const WORKLOAD = { name: 'sample', url: 'https://mcp.example.com/mcp', transport: 'streamable-http' };

/** Requests by operationId. Requests that create objects come before those that need them. */
export const SAMPLES: Record<string, Sample> = {
  getVersion: { path: '/version' },
  getOpenApi: { path: '/openapi.json' },
  registerClient: { path: '/clients', body: CLIENT },
  registerClients: { path: '/clients/register', body: { names: ['cursor'], groups: [] } },
  listClients: { path: '/clients' },
  deleteClient: { path: '/clients/cursor' },
  listRegistries: { path: '/registry' },
  updateRegistry: { path: '/registry/default', body: {} },
  getRegistry: { path: '/registry/default' },
  listRegistryServers: { path: '/registry/default/servers' },
  getRegistryServer: { path: '/registry/default/servers/fetch' },
  setUpSecrets: { path: '/secrets', body: { provider_type: 'kubernetes' } },
  createSecret: { path: '/secrets/default/keys', body: { key: 'SAMPLE', value: 'of the samples' } },
  updateSecret: { path: '/secrets/default/keys/SAMPLE', body: { value: 'another' } },
  listSecrets: { path: '/secrets/default/keys' },
  deleteSecret: { path: '/secrets/default/keys/SAMPLE' },
  listSkills: { path: '/skills' },
  installSkill: { path: '/skills', body: { archive: 'eA==' } },
  getSkill: { path: '/skills/sample' },
  uninstallSkill: { path: '/skills/sample' },
  validateSkill: { path: '/skills/validate', body: { archive: 'eA==' } },
  createGroup: { path: '/groups', body: { name: 'sample' } },
  listGroups: { path: '/groups' },
  getGroup: { path: '/groups/sample' },
  editGroup: { path: '/groups/sample', body: { description: 'For the samples' } },
  createWorkload: { path: '/workloads', body: WORKLOAD },
  listWorkloads: { path: '/workloads' },
  getWorkload: { path: '/workloads/sample' },
  getWorkloadStatus: { path: '/workloads/sample/status' },
  getWorkloadLogs: { path: '/workloads/sample/logs' },
  exportWorkload: { path: '/workloads/sample/export' },
  editWorkload: { path: '/workloads/sample/edit', body: { url: 'https://mcp.example.com/other' } },
  stopWorkload: { path: '/workloads/sample/stop' },
  startWorkload: { path: '/workloads/sample/start' },
  restartWorkload: { path: '/workloads/sample/restart' },
  restartWorkloads: { path: '/workloads/restart', body: { names: ['sample'] } },
  getOperation: { path: '/operations/none' },
  deleteWorkload: { path: '/workloads/sample' },
  deleteWorkloads: { path: '/workloads/delete', body: { names: ['sample'] } },
  deleteGroup: { path: '/groups/sample' },
};
