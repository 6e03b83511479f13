import type { ServerResponse } from 'node:http';
import { RequestError } from '#runtime/errors';
import type { Identity } from '#runtime/incoming/identity';
import type { Services } from '#runtime/services';
import type { RequestRecord } from '#runtime/request-record';
import type { DecodedMessage, DecodedNotification, DecodedResponse } from '../envelope/decode-request.ts';
import { LEGACY_REVISIONS, MODERN_REVISION } from '../era.ts';
import { invalidRequest } from '../route/refusals.ts';
import { endBackendSessions } from '../sessions/end-backend-sessions.ts';
import type { Session } from '../sessions/session.ts';
import { handleNotification, handleResponse } from './handle-notification.ts';
import { serveRequest } from '../serve-call.ts';
import { legacyFraming } from './framing.ts';
import { initialize } from './initialize.ts';
import { openStream } from './open-stream.ts';

/** Returns no promise of its own, as most requests need none before the call. @throws RequestError */
export function serveLegacy(
  res: ServerResponse,
  body: Buffer,
  message: DecodedMessage,
  identity: Identity,
  services: Services,
  requestRecord: RequestRecord,
): void | Promise<void> {
  if (message.kind === 'request' && message.method === 'initialize')
    return initialize(res, body, message, identity, services, requestRecord);
  const serveIn = (session: Session): void | Promise<void> => {
    if (message.kind === 'request')
      return serveRequest({ res, body, message, session, identity, services, requestRecord }, legacyFraming);
    return takeMessage(res, body, message, session, identity, services, requestRecord);
  };
  const found = findSession(identity, services, requestRecord);
  return found instanceof Promise ? found.then(serveIn) : serveIn(found);
}

async function takeMessage(
  res: ServerResponse,
  body: Buffer,
  message: DecodedNotification | DecodedResponse,
  session: Session,
  identity: Identity,
  services: Services,
  requestRecord: RequestRecord,
): Promise<void> {
  if (message.kind === 'notification') await handleNotification(message, body, session, identity, services);
  else await handleResponse(message, body, session, identity, services);
  requestRecord.status = 202;
  res.writeHead(202, { 'content-length': 0 }).end();
}

/** @throws RequestError */
export async function serveGet(
  res: ServerResponse,
  identity: Identity,
  services: Services,
  requestRecord: RequestRecord,
): Promise<void> {
  const { headers } = requestRecord.req;
  if (headers['mcp-protocol-version'] === MODERN_REVISION) throw noStreams();
  if (!(headers.accept ?? '').includes('text/event-stream')) {
    throw invalidRequest(406, 'not_acceptable', 'The Accept header must list text/event-stream');
  }
  requestRecord.method = 'GET';
  const lastEventId = headers['last-event-id'];
  const session = await findSession(identity, services, requestRecord, false);
  await openStream(res, session, identity, typeof lastEventId === 'string' ? lastEventId : undefined, services);
}

/** @throws RequestError */
export async function serveDelete(
  res: ServerResponse,
  identity: Identity,
  services: Services,
  requestRecord: RequestRecord,
): Promise<void> {
  if (requestRecord.req.headers['mcp-protocol-version'] === MODERN_REVISION) throw noStreams();
  requestRecord.method = 'DELETE';
  const session = await findSession(identity, services, requestRecord);
  await services.sessions.end(session);
  endBackendSessions(session, identity, services.backends);
  requestRecord.status = 204;
  res.writeHead(204).end();
}

/** Revision 2026-07-28 has neither GET nor DELETE. */
function noStreams(): RequestError {
  return new RequestError({
    status: 405,
    code: 'method_not_allowed',
    text: 'This revision has POST only',
    headers: { Allow: 'POST' },
  });
}

/** Sessions of other principals count as unknown. @throws RequestError 400, 404, 503 */
function findSession(
  identity: Identity,
  services: Services,
  requestRecord: RequestRecord,
  isUse = true,
): Session | Promise<Session> {
  const { headers } = requestRecord.req;
  const id = headers['mcp-session-id'];
  if (typeof id !== 'string')
    throw invalidRequest(400, 'session_missing', 'The Mcp-Session-Id header is missing: initialize first');
  const revision = headers['mcp-protocol-version'];
  if (revision !== undefined && !LEGACY_REVISIONS.includes(String(revision))) {
    throw invalidRequest(
      400,
      'unsupported_version',
      'The MCP-Protocol-Version header names no revision of this server',
    );
  }
  const found = services.sessions.find(id, identity.key, isUse);
  return found instanceof Promise
    ? found.then((session) => noteSession(session, requestRecord))
    : noteSession(found, requestRecord);
}

function noteSession(session: Session | undefined, requestRecord: RequestRecord): Session {
  if (!session) throw invalidRequest(404, 'session_unknown', 'Session not found: initialize again');
  requestRecord.session = session.logId;
  requestRecord.revision = session.profile.revision;
  requestRecord.clientName = session.profile.clientName;
  requestRecord.clientVersion = session.profile.clientVersion;
  return session;
}
