import type { IncomingMessage, ServerResponse } from 'node:http';
import { enter } from '#runtime/enter';
import { readBody } from '#runtime/http/read-body';
import type { Identity } from '#runtime/incoming/identity';
import { classifyEra } from '#runtime/mcp/classify-era';
import { decodeRequest, type DecodedMessage } from '#runtime/mcp/envelope/decode-request';
import { mentionsTasks, withoutTasks } from '#runtime/mcp/envelope/strip-tasks';
import type { Era } from '#runtime/mcp/era';
import { serveGet, serveDelete, serveLegacy } from '#runtime/mcp/legacy/serve-legacy';
import { serveModern } from '#runtime/mcp/modern/serve-modern';
import type { Services } from '#runtime/services';
import { checkHeaders, refuseVerb } from '#runtime/http/check-headers';
import { noteMessage } from '#runtime/write-request-record';
import type { RequestRecord } from '#runtime/request-record';

type Serve = (
  res: ServerResponse,
  body: Buffer,
  message: DecodedMessage,
  identity: Identity,
  services: Services,
  requestRecord: RequestRecord,
) => void | Promise<void>;

const eras: Record<Era, Serve> = { legacy: serveLegacy, modern: serveModern };

/** Handles one request to the MCP endpoint with these services; see the diagram in docs/internals/lifecycle.md. */
export function serve(req: IncomingMessage, res: ServerResponse, services: Services): Promise<void> {
  return enter(req, res, services, async (identity, requestRecord) => {
    if (req.method === 'POST') await servePost(req, res, identity, services, requestRecord);
    else if (req.method === 'GET') await serveGet(res, identity, services, requestRecord);
    else if (req.method === 'DELETE') await serveDelete(res, identity, services, requestRecord);
    else refuseVerb();
  });
}

async function servePost(
  req: IncomingMessage,
  res: ServerResponse,
  identity: Identity,
  services: Services,
  requestRecord: RequestRecord,
): Promise<void> {
  checkHeaders(req.headers);
  let body = await readBody(req, services.config.limits.max_request_bytes);
  let message = decodeRequest(body);
  const era = classifyEra(req.headers, message);
  if (mentionsTasks(message, era)) {
    body = withoutTasks(message, body, era);
    message = decodeRequest(body);
  }
  noteMessage(requestRecord, message, era);
  services.begin(requestRecord, message);
  await eras[era](res, body, message, identity, services, requestRecord);
}
