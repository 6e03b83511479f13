import { z } from 'zod';
import { text } from './primitives.ts';

/** The audit event types, in the order of docs/reference. Management operations add `management_<operation>`. */
export const AUDIT_EVENT_TYPES = [
  'mcp_initialize',
  'mcp_tool_call',
  'mcp_task',
  'mcp_tools_list',
  'mcp_resource_read',
  'mcp_resources_list',
  'mcp_prompt_get',
  'mcp_prompts_list',
  'mcp_completion',
  'mcp_notification',
  'mcp_ping',
  'mcp_session_evicted',
  'http_request',
  'auth_login_started',
  'auth_login_completed',
  'auth_login_failed',
  'auth_client_registered',
  'auth_token_issued',
  'auth_token_refreshed',
  'auth_token_revoked',
  'auth_consent',
  'upstream_token_refreshed',
  'upstream_token_failed',
  'policy_reloaded',
  'config_reloaded',
] as const;

export type AuditEventType = (typeof AUDIT_EVENT_TYPES)[number];

const MANAGEMENT = 'management_[A-Za-z0-9_]{1,50}';
/** Event types of the management API, one for each operation. */
export const MANAGEMENT_EVENT = new RegExp(`^${MANAGEMENT}$`);

/** A misspelt type would silently record nothing, or exclude nothing. */
const EventType = z
  .string()
  .max(64)
  .regex(
    new RegExp(`^(${AUDIT_EVENT_TYPES.join('|')}|${MANAGEMENT})$`),
    `not an audit event type; write one of ${AUDIT_EVENT_TYPES.join(', ')}, or management_<operation>`,
  );

const LogFile = text(4096).refine((path) => !path.includes('\0'), 'no path has a NUL character; remove it');

export const AuditConfig = z.strictObject({
  enabled: z.boolean().default(false).describe('Write audit events.'),
  component: z.string().max(253).optional().describe('Name of this component in each event; default the server name.'),
  eventTypes: z.array(EventType).max(64).optional().describe('Only these event types; absent means all.'),
  excludeEventTypes: z.array(EventType).max(64).optional().describe('Never these event types; wins over eventTypes.'),
  includeRequestData: z.boolean().default(false).describe('Put the request parameters into `data`.'),
  includeResponseData: z.boolean().default(false).describe('Put the result into `data`.'),
  logFile: LogFile.optional().describe('File to append to; absent means standard output.'),
  maxDataSize: z
    .int()
    .min(0)
    .max(1_048_576)
    .default(1024)
    .describe('Largest `data`, in bytes; longer data is cut and marked.'),
});
export type AuditConfig = z.infer<typeof AuditConfig>;
