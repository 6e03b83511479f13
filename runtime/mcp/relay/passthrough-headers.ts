import type { IncomingMessage } from 'node:http';
import type { Rooms } from '#runtime/rooms';

/** Never passed on, whatever is configured: the client's credential, hop-by-hop and forwarding headers, what we write ourselves. */
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

/** The client's headers that the configuration passes on, as a flat list. */
export function passthroughHeaders(req: IncomingMessage, { config }: Rooms): readonly string[] {
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
