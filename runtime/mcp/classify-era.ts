import type { IncomingHttpHeaders } from 'node:http';
import type { DecodedMessage } from './envelope/decode-request.ts';
import { LEGACY_REVISIONS, type Era } from './era.ts';

export const META_VERSION = 'io.modelcontextprotocol/protocolVersion';

/**
 * Returns the era of a message. A message of revision 2026-07-28 names its revision in `_meta` or at least in the header. Older
 * revisions begin with initialize or carry a session id.
 */
export function classifyEra(headers: IncomingHttpHeaders, message: DecodedMessage): Era {
  if (message.meta.some(({ key }) => key === META_VERSION)) return 'modern';
  if (headers['mcp-session-id'] !== undefined || (message.kind === 'request' && message.method === 'initialize'))
    return 'legacy';
  const revision = headers['mcp-protocol-version'];
  return revision === undefined || LEGACY_REVISIONS.includes(String(revision)) ? 'legacy' : 'modern';
}
