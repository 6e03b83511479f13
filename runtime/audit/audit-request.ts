import type { AuditEventType } from '#crds/parts/audit';
import type { Identity } from '#runtime/incoming/identity';
import type { Decision } from '#runtime/policy/authorizer';
import type { RequestRecord } from '#runtime/request-record';
import type { Audit, AuditEvent } from './audit.ts';

const TYPES: ReadonlyMap<string, AuditEventType> = new Map([
  ['initialize', 'mcp_initialize'],
  ['tools/call', 'mcp_tool_call'],
  ['tasks/get', 'mcp_task'],
  ['tasks/result', 'mcp_task'],
  ['tasks/update', 'mcp_task'],
  ['tasks/cancel', 'mcp_task'],
  ['tasks/list', 'mcp_task'],
  ['tools/list', 'mcp_tools_list'],
  ['resources/read', 'mcp_resource_read'],
  ['resources/list', 'mcp_resources_list'],
  ['resources/templates/list', 'mcp_resources_list'],
  ['prompts/get', 'mcp_prompt_get'],
  ['prompts/list', 'mcp_prompts_list'],
  ['completion/complete', 'mcp_completion'],
  ['ping', 'mcp_ping'],
  ['response', 'mcp_notification'],
]);

const TARGETS: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'tool'],
  ['tasks/get', 'tool'],
  ['tasks/result', 'tool'],
  ['tasks/update', 'tool'],
  ['tasks/cancel', 'tool'],
  ['resources/read', 'resource'],
  ['resources/subscribe', 'resource'],
  ['resources/unsubscribe', 'resource'],
  ['prompts/get', 'prompt'],
]);

function typeOf(method: string | undefined): AuditEventType {
  if (method === undefined) return 'http_request';
  return TYPES.get(method) ?? (method.startsWith('notifications/') ? 'mcp_notification' : 'http_request');
}

export function auditRequest(
  audit: Audit,
  requestRecord: RequestRecord,
  durationMs: number,
  sourceOf: (requestRecord: RequestRecord) => string | undefined,
): void {
  const type = typeOf(requestRecord.method);
  if (!audit.wants(type)) return;
  const event: AuditEvent = {
    type,
    outcome: requestRecord.outcome,
    audit_id: requestRecord.id,
    source: sourceOf(requestRecord),
    subjects: {
      user: requestRecord.identity && displayName(requestRecord.identity),
      user_id: requestRecord.identity?.subject,
      client_name: requestRecord.clientName,
      client_version: requestRecord.clientVersion,
    },
    target: {
      endpoint: pathOf(requestRecord),
      method: requestRecord.method ?? requestRecord.req.method,
      type: TARGETS.get(requestRecord.method ?? ''),
      name: requestRecord.target,
      backend: requestRecord.backend,
    },
    metadata: {
      duration_ms: durationMs,
      transport: requestRecord.transport,
      revision: requestRecord.revision,
      bridge: requestRecord.bridge,
      session: requestRecord.session,
      trace_id: requestRecord.traceId,
    },
    ...decided(requestRecord),
    ...(audit.wantsRequest && requestRecord.params !== undefined ? { request: requestRecord.params } : {}),
    ...(audit.wantsResponse && requestRecord.answer !== undefined ? { response: requestRecord.answer } : {}),
  };
  audit.record(event);
}

/** Leaves out the query, which names the client's stream. */
function pathOf({ req }: RequestRecord): string | undefined {
  return req.url?.split('?', 1)[0];
}

function detailsOf({ decision, code, webhook, limit }: RequestRecord): Record<string, unknown> {
  return {
    ...(code === undefined ? {} : { code }),
    ...(webhook === undefined ? {} : { webhook }),
    ...(limit === undefined ? {} : { limit }),
    ...(decision?.wouldDeny ? { would_deny: true } : {}),
  };
}

function decided(requestRecord: RequestRecord): Pick<AuditEvent, 'policies' | 'details'> {
  const { decision, code } = requestRecord;
  const policies = decision && !isOpen(decision) ? decision.policies : undefined;
  if (decision?.wouldDeny !== true && code === undefined) return { policies };
  return { policies, details: detailsOf(requestRecord) };
}

/** Without policies, each caller may call each entry. */
const isOpen = ({ allowed, wouldDeny, policies }: Decision): boolean => allowed && !wouldDeny && policies.length === 0;

function displayName({ claims, subject }: Identity): string {
  for (const claim of ['email', 'preferred_username', 'name']) {
    const value = claims[claim];
    if (typeof value === 'string' && value !== '') return value;
  }
  return subject;
}
