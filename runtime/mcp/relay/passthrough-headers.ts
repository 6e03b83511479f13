import type { IncomingMessage } from 'node:http';
import type { TraceStep } from '#runtime/request-record';
import type { Services } from '#runtime/services';

/** Never forwarded: the client's credential, hop-by-hop and forwarding headers, and those that the gateway sets. */
const NEVER = new Set([
  'authorization',
  'cookie',
  'host',
  'connection',
  'content-length',
  'content-type',
  'accept',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'mcp-session-id',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'last-event-id',
]);

const NONE: readonly string[] = [];

/** Flat list. */
export function passthroughHeaders(req: IncomingMessage, { config }: Services): readonly string[] {
  const { passthrough_headers: names } = config;
  if (names.length === 0) return NONE;
  const passed: string[] = [];
  for (const name of names) {
    const lower = name.toLowerCase();
    const value = NEVER.has(lower) ? undefined : req.headers[lower];
    if (typeof value === 'string') passed.push(lower, value);
  }
  return passed;
}

/** The trace of this step replaces the client's. */
export function tracedHeaders(headers: readonly string[], { headers: context }: TraceStep): string[] {
  const traced = [...context];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = '', value = ''] = headers.slice(at, at + 2);
    if (name !== 'traceparent' && name !== 'tracestate') traced.push(name, value);
  }
  return traced;
}
