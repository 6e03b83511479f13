import type { AuditEventType } from '#crds/parts/audit';
import type { Identity } from '#runtime/incoming/identity';
import type { Trail } from '#runtime/trail';
import type { Audit, AuditEvent } from './audit.ts';

const TYPES: ReadonlyMap<string, AuditEventType> = new Map([
  ['initialize', 'mcp_initialize'],
  ['tools/call', 'mcp_tool_call'],
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

const TARGETS: ReadonlyMap<AuditEventType, string> = new Map([
  ['mcp_tool_call', 'tool'],
  ['mcp_resource_read', 'resource'],
  ['mcp_prompt_get', 'prompt'],
]);

function typeOf(method: string | undefined): AuditEventType {
  if (method === undefined) return 'http_request';
  return TYPES.get(method) ?? (method.startsWith('notifications/') ? 'mcp_notification' : 'http_request');
}

/** Records a request and its outcome. */
export function auditRequest(
  audit: Audit,
  trail: Trail,
  durationMs: number,
  sourceOf: (trail: Trail) => string | undefined,
): void {
  const type = typeOf(trail.method);
  if (!audit.wants(type)) return;
  const { decision, code } = trail;
  const event: AuditEvent = {
    type,
    outcome: trail.outcome,
    audit_id: trail.id,
    source: sourceOf(trail),
    subjects: {
      user: trail.identity && displayName(trail.identity),
      user_id: trail.identity?.subject,
      client_name: trail.clientName,
      client_version: trail.clientVersion,
    },
    target: {
      endpoint: pathOf(trail),
      method: trail.method ?? trail.req.method,
      type: TARGETS.get(type),
      name: trail.target,
      backend: trail.backend,
    },
    metadata: {
      duration_ms: durationMs,
      transport: trail.transport,
      revision: trail.revision,
      session: trail.session,
      trace_id: trail.traceId,
    },
    ...(decision || code !== undefined ? { details: detailsOf(trail) } : {}),
    ...(audit.wantsRequest && trail.params !== undefined ? { request: trail.params } : {}),
    ...(audit.wantsResponse && trail.answer !== undefined ? { response: trail.answer } : {}),
  };
  audit.record(event);
}

/** Returns the path without its query: the query names the client's stream. */
function pathOf({ req }: Trail): string | undefined {
  return req.url?.split('?', 1)[0];
}

function detailsOf({ decision, code, webhook, limit }: Trail): Record<string, unknown> {
  return {
    ...(code === undefined ? {} : { code }),
    ...(decision === undefined ? {} : { policies: decision.policies }),
    ...(webhook === undefined ? {} : { webhook }),
    ...(limit === undefined ? {} : { limit }),
    ...(decision?.wouldDeny ? { would_deny: true } : {}),
  };
}

/** Returns the caller's display name: a naming claim, else the subject. */
function displayName({ claims, subject }: Identity): string {
  for (const claim of ['email', 'preferred_username', 'name']) {
    const value = claims[claim];
    if (typeof value === 'string' && value !== '') return value;
  }
  return subject;
}
