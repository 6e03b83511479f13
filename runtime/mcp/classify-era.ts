import type { IncomingHttpHeaders } from 'node:http';
import type { DecodedMessage } from './envelope/decode-request.ts';
import { LEGACY_REVISIONS, type Era } from './era.ts';

export const META_VERSION = 'io.modelcontextprotocol/protocolVersion';

/** Revision 2026-07-28 is named in `_meta` or the header; older ones begin with initialize or carry a session id. */
export function classifyEra(headers: IncomingHttpHeaders, message: DecodedMessage): Era {
  if (message.meta.some(({ key }) => key === META_VERSION)) return 'modern';
  if (headers['mcp-session-id'] !== undefined || (message.kind === 'request' && message.method === 'initialize'))
    return 'legacy';
  const revision = headers['mcp-protocol-version'];
  return revision === undefined || LEGACY_REVISIONS.includes(String(revision)) ? 'legacy' : 'modern';
}
