import { ConfigError } from '#runtime/errors';

/** Headers that frame, route or version a message: a credential in them would break or redirect it. */
const RESERVED = new Set([
  'accept',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]{1,256}$/;

/**
 * The lower-case name of a header that may carry a credential.
 * @throws ConfigError
 */
export function checkHeaderName(name: string, backend: string): string {
  const lower = name.toLowerCase();
  if (!TOKEN.test(lower)) throw new ConfigError(`backend ${backend}: ${JSON.stringify(name)} is no header name`);
  if (RESERVED.has(lower)) {
    throw new ConfigError(`backend ${backend}: header ${lower} belongs to the protocol and cannot carry a credential`);
  }
  return lower;
}
