import type { AuditEventType } from '../parts/audit.ts';
import type { AuditLine } from '../parts/audit-line.ts';

type Example = Pick<AuditLine, 'outcome'> &
  Partial<Pick<AuditLine, 'source' | 'subjects' | 'target' | 'metadata' | 'data'>>;

const source = '198.51.100.7';
const client = { client_name: 'claude-code', client_version: '2.1.0' };
const alice = { user: 'alice@example.com', user_id: '3f9a', ...client };
const metadata = {
  duration_ms: 12.4,
  transport: 'streamable-http',
  revision: '2025-11-25',
  session: '9f2c4a1b7d3e5f60',
};
const mcp = { outcome: 'success', source, subjects: alice, metadata } as const;
const to = (method: string, of: Partial<AuditLine['target']> = {}) => ({ target: { endpoint: '/mcp', method, ...of } });

/** One line of each type, without its first members. */
export const AUDIT_EXAMPLES: Record<AuditEventType | 'management_<operation>', Example> = {
  mcp_initialize: { ...mcp, ...to('initialize') },
  mcp_tool_call: {
    ...mcp,
    outcome: 'denied',
    ...to('tools/call', { type: 'tool', name: 'github_delete_repo', backend: 'github' }),
    data: { code: 'unknown_name', policies: [{ id: 'support-reads-only' }] },
  },
  mcp_task: {
    ...mcp,
    ...to('tasks/get', { type: 'tool', name: 'ci_run_build', backend: 'ci' }),
    data: { policies: [{ id: 'developers-may-build' }] },
  },
  mcp_tools_list: { ...mcp, ...to('tools/list') },
  mcp_resource_read: {
    ...mcp,
    ...to('resources/read', { type: 'resource', name: 'file:///handbook.md', backend: 'files' }),
  },
  mcp_resources_list: { ...mcp, ...to('resources/list') },
  mcp_prompt_get: {
    ...mcp,
    outcome: 'error',
    ...to('prompts/get', { type: 'prompt', name: 'files_summarise', backend: 'files' }),
    data: { code: 'backend_timeout' },
  },
  mcp_prompts_list: { ...mcp, ...to('prompts/list') },
  mcp_completion: { ...mcp, ...to('completion/complete', { name: 'files_summarise', backend: 'files' }) },
  mcp_notification: { ...mcp, ...to('notifications/cancelled') },
  mcp_ping: { ...mcp, ...to('ping') },
  mcp_session_evicted: {
    outcome: 'success',
    subjects: { user_id: '3f9a', ...client },
    metadata: { revision: '2025-11-25', session: '9f2c4a1b7d3e5f60' },
    data: { reason: 'idle', idle_ms: 1_800_000 },
  },
  http_request: {
    outcome: 'denied',
    source,
    ...to('POST'),
    metadata: { duration_ms: 0.3, transport: 'streamable-http' },
    data: { code: 'invalid_token' },
  },
  auth_login_started: {
    outcome: 'success',
    source,
    subjects: { client_name: 'Claude Code' },
    data: { client_id: 'k7Qz' },
  },
  auth_login_completed: {
    outcome: 'success',
    subjects: { user: 'alice@example.com', user_id: '3f9a' },
    data: { providers: ['company', 'github'], client_id: 'k7Qz' },
  },
  auth_login_failed: {
    outcome: 'denied',
    target: { type: 'upstream_provider', name: 'github' },
    data: { reason: 'denied', client_id: 'k7Qz' },
  },
  auth_client_registered: { outcome: 'success', source, subjects: { client_name: 'Claude Code' } },
  auth_token_issued: {
    outcome: 'success',
    source,
    subjects: { user: 'alice@example.com', user_id: '3f9a' },
    data: { client_id: 'k7Qz' },
  },
  auth_token_refreshed: {
    outcome: 'denied',
    source,
    data: { code: 'invalid_grant' },
  },
  auth_token_revoked: {
    outcome: 'success',
    source,
    subjects: { user: 'alice@example.com', user_id: '3f9a' },
    data: { client_id: 'k7Qz', reason: 'the client asked for it' },
  },
  auth_consent: {
    outcome: 'success',
    source,
    subjects: { user: 'alice@example.com', user_id: '3f9a' },
    data: { client_id: 'k7Qz', scope: 'openid' },
  },
  upstream_token_refreshed: {
    outcome: 'success',
    subjects: { user_id: '3f9a' },
    target: { type: 'upstream_provider', name: 'github' },
  },
  upstream_token_failed: {
    outcome: 'error',
    subjects: { user_id: '3f9a' },
    target: { type: 'upstream_provider', name: 'github' },
    data: { reason: 'unreachable' },
  },
  policy_reloaded: { outcome: 'success' },
  config_reloaded: { outcome: 'failure' },
  'management_<operation>': {
    outcome: 'success',
    source: '127.0.0.1',
    subjects: { user: 'alice' },
    target: { endpoint: '/api/v1beta/workloads', method: 'POST', type: 'api', name: 'fetch' },
    metadata: { duration_ms: 31.2, transport: 'http' },
    data: { namespace: 'default', name: 'fetch' },
  },
};
