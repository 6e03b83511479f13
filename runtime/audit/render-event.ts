import { randomUUID } from 'node:crypto';
import type { Decision } from '#runtime/policy/authorizer';
import type { AuditEvent } from './audit.ts';
import type { Quote } from './quote.ts';
import { renderData, renderValue } from './render-data.ts';

interface RenderOptions {
  readonly component: string;
  readonly includeRequestData: boolean;
  readonly includeResponseData: boolean;
  /** Bytes. */
  readonly maxDataSize: number;
  readonly quote: Quote;
}

/**
 * Renders one event as a line without the line break: `audit_id, type, logged_at, outcome, component, source, subjects, target, metadata,
 * data`. Omits members without a value. `loggedAt` is RFC 3339.
 */
export function renderEvent(event: AuditEvent, loggedAt: string, options: RenderOptions): string {
  const { quote } = options;
  const id = event.audit_id ?? randomUUID();
  return (
    `{"audit_id":"${id}","type":"${event.type}","logged_at":"${loggedAt}","outcome":"${event.outcome}"` +
    `,"component":${quote(options.component)}${event.source === undefined ? '' : `,"source":${quote(event.source)}`}` +
    `,"subjects":{${subjectsOf(event, quote)}},"target":{${targetOf(event, quote)}}` +
    `,"metadata":{${metadataOf(event, quote)}}${renderAllData(event, options)}}`
  );
}

function subjectsOf({ subjects: of }: AuditEvent, quote: Quote): string {
  if (of === undefined) return '';
  let text = '';
  if (of.user !== undefined) text += `,"user":${quote(of.user)}`;
  if (of.user_id !== undefined) text += `,"user_id":${quote(of.user_id)}`;
  if (of.client_name !== undefined) text += `,"client_name":${quote(of.client_name)}`;
  if (of.client_version !== undefined) text += `,"client_version":${quote(of.client_version)}`;
  return text.slice(1);
}

function targetOf({ target: of }: AuditEvent, quote: Quote): string {
  if (of === undefined) return '';
  let text = '';
  if (of.endpoint !== undefined) text += `,"endpoint":${quote(of.endpoint)}`;
  if (of.method !== undefined) text += `,"method":${quote(of.method)}`;
  if (of.type !== undefined) text += `,"type":${quote(of.type)}`;
  if (of.name !== undefined) text += `,"name":${quote(of.name)}`;
  if (of.backend !== undefined) text += `,"backend":${quote(of.backend)}`;
  return text.slice(1);
}

function metadataOf({ metadata: of }: AuditEvent, quote: Quote): string {
  if (of === undefined) return '';
  let text = '';
  // Rounded to microseconds.
  if (of.duration_ms !== undefined) text += `,"duration_ms":${Math.round(of.duration_ms * 1000) / 1000}`;
  if (of.transport !== undefined) text += `,"transport":${quote(of.transport)}`;
  if (of.revision !== undefined) text += `,"revision":${quote(of.revision)}`;
  if (of.bridge !== undefined) text += `,"bridge":"${of.bridge}"`;
  if (of.session !== undefined) text += `,"session":${quote(of.session)}`;
  if (of.trace_id !== undefined) text += `,"trace_id":${quote(of.trace_id)}`;
  return text.slice(1);
}

function renderAllData(event: AuditEvent, options: RenderOptions): string {
  const request = options.includeRequestData ? event.request : undefined;
  const response = options.includeResponseData ? event.response : undefined;
  const members: string[] = event.policies === undefined ? [] : [policiesOf(event.policies, options.quote)];
  if (request === undefined && response === undefined && event.details === undefined) return dataOf(members);
  const cut: string[] = [];
  let left = options.maxDataSize;
  for (const [name, part, render] of [
    ...Object.entries(event.details ?? {}).map(([name, value]) => [name, value, renderValue] as const),
    ['request', request, renderData],
    ['response', response, renderData],
  ] as const) {
    if (part === undefined) continue;
    const rendered = render(part, left);
    left -= Buffer.byteLength(rendered.json);
    members.push(`${JSON.stringify(name)}:${rendered.json}`);
    if (rendered.cut) cut.push(name);
  }
  if (cut.length > 0) members.push(`"truncated":${JSON.stringify(cut)}`);
  return dataOf(members);
}

const dataOf = (members: readonly string[]): string => (members.length === 0 ? '' : `,"data":{${members.join(',')}}`);

function policiesOf(policies: Decision['policies'], quote: Quote): string {
  const each = policies.map(
    ({ id, advice }) => `{"id":${quote(id)}${advice === undefined ? '' : `,"advice":${quote(advice)}`}}`,
  );
  return `"policies":[${each.join(',')}]`;
}
