import { z } from 'zod';
import { AUDIT_EVENT_TYPES, MANAGEMENT_EVENT } from './audit.ts';

export const AUDIT_OUTCOMES = ['success', 'tool_error', 'failure', 'error', 'denied'] as const;

/** One line of the audit log. Members without a value are absent. */
export const AuditLine = z.strictObject({
  audit_id: z.string().describe('Id of the request; the log of the runtime and error pages have the same one.'),
  type: z
    .union([z.enum(AUDIT_EVENT_TYPES), z.string().regex(MANAGEMENT_EVENT)])
    .describe('Type of the event; `management_<operation>` for the management API.'),
  logged_at: z.iso.datetime().describe('Time at which the event was written, RFC 3339 in UTC.'),
  outcome: z.enum(AUDIT_OUTCOMES).describe('Result of the request; metrics use the same words.'),
  component: z.string().describe('Name of the server, or `audit.component`.'),
  source: z
    .string()
    .optional()
    .describe('Address of the client. A forwarding header counts only from a trusted proxy.'),
  subjects: z
    .strictObject({
      user: z
        .string()
        .optional()
        .describe('E-mail address, preferred user name or name of the caller, else the subject.'),
      user_id: z.string().optional().describe('Subject of the caller.'),
      client_name: z.string().optional().describe('Name that the client gives itself.'),
      client_version: z.string().optional().describe('Version that the client gives itself.'),
    })
    .describe('Caller and client.'),
  target: z
    .strictObject({
      endpoint: z.string().optional().describe('Requested path, without its query.'),
      method: z.string().optional().describe('Method of MCP; of HTTP if the request has no other.'),
      type: z
        .string()
        .optional()
        .describe(
          '`tool`, `resource`, `prompt`, `upstream_provider`, `remote_server`, or a resource of the management API.',
        ),
      name: z
        .string()
        .optional()
        .describe('Advertised name of the tool or prompt, URI of the resource, or name of the target.'),
      backend: z.string().optional().describe('Backend of the target, also if the caller may not know of it.'),
    })
    .describe('Request and its target.'),
  metadata: z
    .strictObject({
      duration_ms: z.number().optional().describe('Duration of the request in milliseconds.'),
      transport: z.string().optional().describe('`streamable-http`, `sse`, or `http` for the management API.'),
      revision: z.string().optional().describe('Revision of MCP that the client speaks.'),
      bridge: z
        .enum(['legacy-to-modern', 'modern-to-legacy'])
        .optional()
        .describe('Bridge that translates the call between revisions.'),
      session: z.string().optional().describe('First 16 hexadecimal digits of the SHA-256 of the session id.'),
      trace_id: z.string().optional().describe('Trace of the request, 32 hexadecimal digits.'),
    })
    .describe('Facts about the exchange.'),
  data: z
    .looseObject({
      policies: z
        .array(
          z.strictObject({
            id: z.string().describe('`@id` of the policy, or its position.'),
            advice: z.string().optional().describe('`@advice` of the policy.'),
          }),
        )
        .optional()
        .describe('Policies that decided. An empty list: no policy permits the call. Absent: no policy was asked.'),
      code: z.string().optional().describe('Stable word for the reason of a failure or refusal.'),
      webhook: z.string().optional().describe('Webhook that refused the call.'),
      limit: z.string().optional().describe('Rate limit that refused the call.'),
      would_deny: z.boolean().optional().describe('The policies deny the call, and `mode: audit` lets it proceed.'),
      request: z.unknown().optional().describe('Parameters of the request, with `includeRequestData`.'),
      response: z.unknown().optional().describe('Result, with `includeResponseData`.'),
      truncated: z.array(z.string()).optional().describe('Members of `data` that were cut at `maxDataSize`.'),
    })
    .optional()
    .describe('Further facts about the event. Types of events add members of their own.'),
});
export type AuditLine = z.infer<typeof AuditLine>;
