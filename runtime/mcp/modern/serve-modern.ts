import type { ServerResponse } from 'node:http';
import type { Identity } from '#runtime/incoming/identity';
import type { Services } from '#runtime/services';
import type { RequestRecord } from '#runtime/request-record';
import type { DecodedMessage } from '../envelope/decode-request.ts';
import { MODERN_REVISION } from '../era.ts';
import { invalidRequest } from '../route/refusals.ts';
import { checkRequest } from './check-request.ts';
import { serveRequest } from '../serve-call.ts';
import { modernFraming } from './framing.ts';

/** @throws RequestError */
export async function serveModern(
  res: ServerResponse,
  body: Buffer,
  message: DecodedMessage,
  identity: Identity,
  services: Services,
  requestRecord: RequestRecord,
): Promise<void> {
  requestRecord.revision = MODERN_REVISION;
  if (message.kind === 'response')
    throw invalidRequest(400, 'invalid_request', 'This revision has no responses from clients');
  if (message.kind === 'notification') {
    // The core protocol has no notifications over HTTP; extensions may.
    requestRecord.status = 202;
    res.writeHead(202, { 'content-length': 0 }).end();
    return;
  }
  const meta = checkRequest(requestRecord.req.headers, message, body);
  requestRecord.clientName = meta.clientName;
  requestRecord.clientVersion = meta.clientVersion;
  await serveRequest({ res, body, message, meta, identity, services, requestRecord }, modernFraming);
}
