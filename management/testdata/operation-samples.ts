import type { Asked } from './ask-operation.ts';

type Request = Pick<Asked, 'params' | 'body'>;

/** Expected place of an operation, a valid request, and the permissions that the request requires. */
export interface Sample extends Request {
  /** Method and path. */
  at: string;
  /** Permissions in the format of `kubectl auth can-i`. Bulk operations check more once they know the workloads. */
  rights: readonly string[];
  /** Request on one machine, whose tests have other objects. By default the same. */
  onMachine?: Request;
}

const CLIENT = { name: 'cursor', groups: [] };
const WORKLOAD = { name: 'sample', url: 'https://mcp.example.com/mcp', transport: 'streamable-http' };

/** Tests that install a skill send an archive of their own. */
const NO_ARCHIVE = { archive: 'eA==' };

const [GROUPS, SERVERS, ENDPOINTS] = ['list mcpgroups', 'list mcpservers', 'list virtualmcpservers'];
const REGISTERING = ['create clients/cursor', 'update clients/cursor', GROUPS, ENDPOINTS];
const [REGISTRY, PROVIDER] = ['get registries/default', 'update secretproviders/default'];
const [GET, UPDATE] = ['get mcpservers/sample', 'update mcpservers/sample'];

const ofDefault = { params: { name: 'default' } };
const ofSample = { params: { name: 'sample' } };
const ofSearch = { params: { name: 'search' } };
const changing = { ...ofSample, rights: [UPDATE], onMachine: ofSearch };
const selecting = { body: { names: ['sample'] }, rights: [SERVERS], onMachine: { body: { names: ['search'] } } };

/** One row for each operation, by its id. Requests that create objects come before those that need them. */
export const SAMPLES: Readonly<Record<string, Sample>> = {
  getVersion: { at: 'GET /version', rights: [] },
  getOpenApi: { at: 'GET /openapi.json', rights: [] },
  registerClient: { at: 'POST /clients', body: CLIENT, rights: REGISTERING },
  registerClients: {
    at: 'POST /clients/register',
    body: { names: ['cursor'], groups: [] },
    rights: REGISTERING,
  },
  listClients: { at: 'GET /clients', rights: ['list clients'] },
  deleteClient: { at: 'DELETE /clients/{name}', params: { name: 'cursor' }, rights: ['delete clients/cursor'] },
  listRegistries: { at: 'GET /registry', rights: ['list registries'] },
  updateRegistry: { at: 'PUT /registry/{name}', ...ofDefault, body: {}, rights: ['update registries/default'] },
  getRegistry: { at: 'GET /registry/{name}', ...ofDefault, rights: [REGISTRY] },
  listRegistryServers: { at: 'GET /registry/{name}/servers', ...ofDefault, rights: [REGISTRY] },
  getRegistryServer: {
    at: 'GET /registry/{name}/servers/{serverName}',
    params: { name: 'default', serverName: 'fetch' },
    rights: [REGISTRY],
    onMachine: { params: { name: 'default', serverName: 'github' } },
  },
  setUpSecrets: {
    at: 'POST /secrets',
    body: { provider_type: 'kubernetes' },
    rights: [PROVIDER],
    onMachine: { body: { provider_type: 'encrypted' } },
  },
  createSecret: {
    at: 'POST /secrets/default/keys',
    body: { key: 'SAMPLE', value: 'of the samples' },
    rights: [PROVIDER, 'create secrets.core/vmcp-secrets'],
    onMachine: { body: { key: 'NEW', value: 'hunter2' } },
  },
  updateSecret: {
    at: 'PUT /secrets/default/keys/{key}',
    params: { key: 'SAMPLE' },
    body: { value: 'another' },
    rights: [PROVIDER, 'update secrets.core/vmcp-secrets'],
    onMachine: { params: { key: 'THERE' }, body: { value: 'hunter2' } },
  },
  listSecrets: { at: 'GET /secrets/default/keys', rights: ['get secretproviders/default'] },
  deleteSecret: {
    at: 'DELETE /secrets/default/keys/{key}',
    params: { key: 'SAMPLE' },
    rights: [PROVIDER, 'update secrets.core/vmcp-secrets'],
    onMachine: { params: { key: 'THERE' } },
  },
  listSkills: { at: 'GET /skills', rights: ['list skills'] },
  installSkill: {
    at: 'POST /skills',
    body: NO_ARCHIVE,
    rights: ['create skills', 'update skills', 'list clients'],
  },
  getSkill: {
    at: 'GET /skills/{name}',
    ...ofSample,
    rights: ['get skills/sample'],
    onMachine: { params: { name: 'notes' } },
  },
  uninstallSkill: {
    at: 'DELETE /skills/{name}',
    ...ofSample,
    rights: ['delete skills/sample'],
    onMachine: { params: { name: 'notes' } },
  },
  validateSkill: {
    at: 'POST /skills/validate',
    body: NO_ARCHIVE,
    rights: ['get skills'],
  },
  createGroup: {
    at: 'POST /groups',
    body: { name: 'sample' },
    rights: ['create mcpgroups/sample', SERVERS],
    onMachine: { body: { name: 'made' } },
  },
  listGroups: { at: 'GET /groups', rights: [GROUPS, SERVERS] },
  getGroup: {
    at: 'GET /groups/{name}',
    ...ofSample,
    rights: ['get mcpgroups/sample', SERVERS],
    onMachine: { params: { name: 'tools' } },
  },
  editGroup: {
    at: 'PUT /groups/{name}',
    ...ofSample,
    body: { description: 'For the samples' },
    rights: ['update mcpgroups/sample', SERVERS],
    onMachine: { params: { name: 'tools' }, body: { description: 'x' } },
  },
  createWorkload: {
    at: 'POST /workloads',
    body: WORKLOAD,
    rights: ['create mcpservers/sample'],
    onMachine: { body: { name: 'made', image: 'example/made:1' } },
  },
  listWorkloads: { at: 'GET /workloads', rights: [SERVERS, ENDPOINTS] },
  getWorkload: { at: 'GET /workloads/{name}', ...ofSample, rights: [GET], onMachine: ofSearch },
  getWorkloadStatus: {
    at: 'GET /workloads/{name}/status',
    ...ofSample,
    rights: [GET, ENDPOINTS],
    onMachine: ofSearch,
  },
  getWorkloadLogs: {
    at: 'GET /workloads/{name}/logs',
    ...ofSample,
    rights: [GET, 'list pods.core', 'get pods/log.core'],
    onMachine: ofSearch,
  },
  exportWorkload: {
    at: 'GET /workloads/{name}/export',
    ...ofSample,
    rights: [GET, 'list mcpexternalauthconfigs', 'list mcpoidcconfigs'],
    onMachine: ofSearch,
  },
  editWorkload: {
    at: 'POST /workloads/{name}/edit',
    ...ofSample,
    body: { url: 'https://mcp.example.com/other' },
    rights: [UPDATE],
    onMachine: { ...ofSearch, body: { image: 'example/search:2' } },
  },
  stopWorkload: { at: 'POST /workloads/{name}/stop', ...changing },
  startWorkload: { at: 'POST /workloads/{name}/start', ...changing },
  restartWorkload: { at: 'POST /workloads/{name}/restart', ...changing },
  restartWorkloads: { at: 'POST /workloads/restart', ...selecting },
  getOperation: {
    at: 'GET /operations/{id}',
    params: { id: 'none' },
    rights: [SERVERS],
    onMachine: { params: { id: 'some' } },
  },
  deleteWorkload: {
    at: 'DELETE /workloads/{name}',
    ...ofSample,
    rights: ['delete mcpservers/sample'],
    onMachine: ofSearch,
  },
  deleteWorkloads: { at: 'POST /workloads/delete', ...selecting },
  deleteGroup: {
    at: 'DELETE /groups/{name}',
    ...ofSample,
    rights: ['delete mcpgroups/sample', SERVERS, ENDPOINTS],
    onMachine: { params: { name: 'empty' } },
  },
};

/** Returns the row of an operation. @throws Error if it is missing */
export function sampleOf(id: string): Sample {
  const sample = SAMPLES[id];
  if (!sample) throw new Error(`add a row for ${id}`);
  return sample;
}

/** Returns a request that succeeds on one machine. */
export function requestOnMachine(id: string): Request {
  const { params, body, onMachine } = sampleOf(id);
  return onMachine ?? { ...(params && { params }), body };
}
