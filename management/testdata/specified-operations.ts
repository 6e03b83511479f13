import { RECORDS } from './specified-records.ts';

/** An operation as the specification and the decisions define it, independent of the code. */
export interface Specified {
  /** Method and path. */
  at: string;
  query?: readonly string[];
  /** Fields of the request body. */
  body?: readonly string[];
  success: number;
  /** Further statuses that the operation lists. */
  others: readonly number[];
  /** Answer: the name of a record, or fields with the names of records. */
  answer: Answer;
}
export type Answer = string | readonly [string] | Readonly<Record<string, string | readonly [string]>> | undefined;

const SCOPED = ['scope', 'project_root'];
const SELECTION = { body: ['names', 'group'], success: 202, others: [400] };

/** The 21 operations, in the order of the specification. */
export const SPECIFIED: readonly Specified[] = [
  { at: 'POST /clients', body: ['name', 'groups'], success: 200, others: [400], answer: 'Client' },
  { at: 'POST /clients/register', body: ['names', 'groups'], success: 200, others: [400], answer: ['Client'] },
  { at: 'GET /registry/{name}', success: 200, others: [404], answer: 'Registry' },
  {
    at: 'GET /registry/{name}/servers/{serverName}',
    success: 200,
    others: [404],
    answer: { is_remote: 'boolean', remote_server: 'RemoteServer', server: 'ImageServer' },
  },
  { at: 'GET /registry', success: 200, others: [], answer: { registries: ['RegistryInfo'] } },
  {
    at: 'GET /registry/{name}/servers',
    success: 200,
    others: [404],
    answer: { remote_servers: ['RemoteServer'], servers: ['ImageServer'] },
  },
  {
    at: 'PUT /registry/{name}',
    body: ['url', 'api_url', 'local_path', 'allow_private_ip', 'auth'],
    success: 200,
    others: [400, 404, 502, 504],
    answer: undefined,
  },
  {
    at: 'POST /secrets/default/keys',
    body: ['key', 'value'],
    success: 201,
    others: [400, 404, 405, 409, 500],
    answer: { key: 'string', message: 'string' },
  },
  {
    at: 'POST /secrets',
    body: ['provider_type', 'password'],
    success: 201,
    others: [400, 500],
    answer: { message: 'string', provider_type: 'encrypted|1password|environment|kubernetes' },
  },
  {
    at: 'PUT /secrets/default/keys/{key}',
    body: ['value'],
    success: 200,
    others: [400, 404, 405, 500],
    answer: { key: 'string', message: 'string' },
  },
  {
    at: 'GET /skills/{name}',
    query: SCOPED,
    success: 200,
    others: [400, 404, 500],
    answer: { installed_skill: 'InstalledSkill', metadata: 'SkillMetadata' },
  },
  {
    at: 'POST /skills',
    body: ['name', 'version', 'scope', 'project_root', 'clients', 'group', 'force'],
    success: 201,
    others: [400, 409, 500],
    answer: { skill: 'InstalledSkill' },
  },
  {
    at: 'GET /skills',
    query: [...SCOPED, 'client', 'group'],
    success: 200,
    others: [500],
    answer: { skills: ['InstalledSkill'] },
  },
  { at: 'DELETE /skills/{name}', query: SCOPED, success: 204, others: [400, 404, 500], answer: undefined },
  {
    at: 'POST /skills/validate',
    body: ['path'],
    success: 200,
    others: [400, 500],
    answer: { errors: ['string'], valid: 'boolean', warnings: ['string'] },
  },
  { at: 'POST /workloads/delete', ...SELECTION, answer: 'OperationAccepted' },
  { at: 'GET /workloads/{name}/export', success: 200, others: [404], answer: 'RunConfiguration' },
  { at: 'GET /workloads/{name}', success: 200, others: [404], answer: 'WorkloadDetail' },
  {
    at: 'GET /workloads',
    query: ['all', 'group'],
    success: 200,
    others: [404],
    answer: { workloads: ['WorkloadSummary'] },
  },
  { at: 'POST /workloads/restart', ...SELECTION, answer: 'OperationAccepted' },
  {
    at: 'POST /workloads/{name}/edit',
    body: Object.keys(RECORDS.WorkloadDetail ?? {}),
    success: 200,
    others: [400, 404],
    answer: 'WorkloadChanged',
  },
];
