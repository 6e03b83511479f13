import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { RequestError } from '#runtime/errors';
import { answerError } from '#runtime/http/answer-error';
import { readBody } from '#runtime/http/read-body';
import type { Identity } from '#runtime/incoming/identity';
import { classifyEra } from '#runtime/mcp/classify-era';
import { decodeRequest, type DecodedMessage } from '#runtime/mcp/envelope/decode-request';
import type { Era } from '#runtime/mcp/era';
import { serveGet, serveDelete, serveSession } from '#runtime/mcp/session-era/serve-session';
import { serveStateless } from '#runtime/mcp/stateless-era/serve-stateless';
import type { Rooms } from '#runtime/rooms';
import { checkHeaders, refuseVerb } from '#runtime/http/check-headers';
import { noteAnswer, noteMessage } from '#runtime/note-trail';
import { Trail } from '#runtime/trail';

type Serve = (
  res: ServerResponse,
  body: Buffer,
  message: DecodedMessage,
  identity: Identity,
  rooms: Rooms,
  trail: Trail,
) => void | Promise<void>;

const eras: Record<Era, Serve> = { session: serveSession, stateless: serveStateless };

/**
 * The way of one request to the MCP endpoint, through the rooms in order; docs/lifecycle.md draws it. Whatever a room throws
 * becomes the answer here; only a failure after a stream has begun is written by the era's relay.
 */
export async function serve(req: IncomingMessage, res: ServerResponse, rooms: Rooms): Promise<void> {
  const trail = new Trail(req, performance.now());
  rooms.running.add(trail);
  try {
    const cors = rooms.hostOrigin.check(req.headers.host, req.headers.origin);
    if (cors) for (const [name, value] of Object.entries(cors)) res.setHeader(name, value);
    const known = rooms.authenticator.authenticate(req.rawHeaders, req.socket);
    const identity = known instanceof Promise ? await known : known;
    trail.identity = identity;
    if (req.method === 'POST') await servePost(req, res, identity, rooms, trail);
    else if (req.method === 'GET') await serveGet(res, identity, rooms, trail);
    else if (req.method === 'DELETE') await serveDelete(res, identity, rooms, trail);
    else refuseVerb();
  } catch (error) {
    noteAnswer(trail, answerError(res, error, { requestId: trail.id, rpcId: trail.rpcId }), error);
    logFailure(error, rooms, trail);
  } finally {
    rooms.running.delete(trail);
    rooms.finish(trail);
  }
}

/** What was foreseen is told by its code in metrics and audit; what was not, nobody would find without this. */
function logFailure(error: unknown, { log }: Rooms, { id: request }: Trail): void {
  if (!(error instanceof RequestError)) log.error('a request failed unexpectedly', { request, error });
  else if (error.answer.status >= 500) log.debug('a request failed', { request, error });
}

async function servePost(
  req: IncomingMessage,
  res: ServerResponse,
  identity: Identity,
  rooms: Rooms,
  trail: Trail,
): Promise<void> {
  checkHeaders(req.headers);
  const body = await readBody(req, rooms.config.limits.max_request_bytes);
  const message = decodeRequest(body);
  const era = classifyEra(req.headers, message);
  noteMessage(trail, message, era);
  rooms.begin(trail, message);
  await eras[era](res, body, message, identity, rooms, trail);
}
