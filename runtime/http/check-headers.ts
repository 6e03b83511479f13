import type { IncomingHttpHeaders } from 'node:http';
import { RequestError } from '#runtime/errors';

/** Web pages can post other types than JSON without a preflight, so this check also blocks foreign pages. @throws RequestError 415 */
export function checkHeaders(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'];
  if (type === 'application/json') return;
  if (type !== undefined && type.split(';', 1)[0]?.trim().toLowerCase() === 'application/json') return;
  throw new RequestError({
    status: 415,
    code: 'unsupported_media_type',
    text: 'The Content-Type must be application/json',
  });
}

/** @throws RequestError 405 */
export function refuseVerb(): never {
  throw new RequestError({
    status: 405,
    code: 'method_not_allowed',
    text: 'The MCP endpoint answers POST, GET and DELETE',
    headers: { Allow: 'POST, GET, DELETE' },
  });
}
