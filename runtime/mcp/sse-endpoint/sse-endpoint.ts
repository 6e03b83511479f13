import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { enter, logFailure } from '#runtime/enter';
import { RequestError } from '#runtime/errors';
import { answerError } from '#runtime/http/answer-error';
import { checkHeaders } from '#runtime/http/check-headers';
import { endAtExpiry, streamClock } from '#runtime/http/end-at-expiry';
import { readBody } from '#runtime/http/read-body';
import { mentionsTasks, withoutTasks } from '#runtime/mcp/envelope/strip-tasks';
import type { Identity } from '#runtime/incoming/identity';
import { decodeRequest, type DecodedMessage } from '#runtime/mcp/envelope/decode-request';
import { invalidRequest } from '#runtime/mcp/route/refusals';
import { openStream } from '#runtime/mcp/session-era/open-stream';
import { serveSession } from '#runtime/mcp/session-era/serve-session';
import { endLegs } from '#runtime/mcp/sessions/end-legs';
import { countedFor } from '#runtime/mcp/sessions/session-limits';
import { noteAnswer, noteMessage } from '#runtime/note-trail';
import type { Rooms } from '#runtime/rooms';
import type { Trail } from '#runtime/trail';
import { SseClient } from './sse-client.ts';

/** One request, authenticated. */
interface Entered {
  readonly req: IncomingMessage;
  readonly rooms: Rooms;
  readonly trail: Trail;
  readonly identity: Identity;
}

const SESSION = 'mcp-session-id';

/**
 * The endpoint as clients of the HTTP+SSE transport (revision 2024-11-05) know it: GET opens a stream, and what is posted beside it is
 * answered there. Each message goes the way of all others; only where its answer is written is another place.
 */
export class SseEndpoint {
  readonly #rooms: () => Rooms;
  readonly #clients = new Map<string, SseClient>();

  constructor(rooms: () => Rooms) {
    this.#rooms = rooms;
  }

  /** Answers a GET with the stream; settles when it is over. */
  stream(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const rooms = this.#rooms();
    return enter(req, res, rooms, async (identity, trail) => {
      trail.transport = 'sse';
      trail.method = 'GET';
      if (req.method !== 'GET') throw wrongVerb('GET');
      // It may have left while it was authenticated.
      if (res.destroyed) return;
      const leave = rooms.streams.take(countedFor(identity, req, rooms));
      const client = new SseClient(randomBytes(24).toString('base64url'), identity, res, rooms.keptBytes);
      this.#clients.set(client.id, client);
      const unsubscribe = rooms.announcer.subscribe({ changed: () => undefined, end: () => client.leave() });
      endAtExpiry(res, identity, streamClock(rooms));
      const closed = new Promise<void>((resolve) => res.once('close', resolve));
      client.open();
      await closed;
      unsubscribe();
      leave();
      this.#clients.delete(client.id);
      await endSession(client, rooms.latest());
    });
  }

  /** Takes a POST: 202, and the answer on the stream. What is refused at once is refused here. */
  message(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const rooms = this.#rooms();
    return enter(req, res, rooms, async (identity, trail) => {
      trail.transport = 'sse';
      if (req.method !== 'POST') throw wrongVerb('POST');
      const client = this.#find(req.url ?? '', identity);
      if (client.isBusy()) throw tooMany();
      checkHeaders(req.headers);
      let body = await readBody(req, rooms.config.limits.max_request_bytes);
      let message = decodeRequest(body);
      if (mentionsTasks(message)) {
        body = withoutTasks(message, body);
        message = decodeRequest(body);
      }
      noteMessage(trail, message, 'session');
      rooms.begin(trail, message);
      // Others may have been taken while this one came in.
      if (client.isBusy()) throw tooMany();
      checkBegun(client, message);
      res.writeHead(202, { 'content-type': 'text/plain' }).end('Accepted');
      // Whatever the client says of its session, it is the one of this stream.
      if (client.sessionId === undefined) Reflect.deleteProperty(req.headers, SESSION);
      else req.headers[SESSION] = client.sessionId;
      await serveOn(client, body, message, { req, rooms, trail, identity });
    });
  }

  /** Ends all streams. */
  close(): void {
    for (const client of this.#clients.values()) client.leave();
  }

  /** @throws RequestError 404, the same for another's stream and for one of another replica */
  #find(url: string, identity: Identity): SseClient {
    const id = new URL(url, 'http://localhost').searchParams.get('sessionId') ?? '';
    const client = this.#clients.get(id);
    if (client?.identity.key === identity.key) return client;
    throw invalidRequest(
      404,
      'stream_unknown',
      'No stream of this id is open here: open one anew. A stream belongs to one replica; streamable HTTP at /mcp does not',
    );
  }
}

/** A second session of one stream would be nobody's. @throws RequestError 400 */
function checkBegun(client: SseClient, message: DecodedMessage): void {
  if (message.kind !== 'request' || message.method !== 'initialize') return;
  if (client.hasBegun) throw invalidRequest(400, 'already_initialized', 'This stream has its session: open another');
  client.hasBegun = true;
}

/** Serves a message that was taken; how it is refused is told on the stream. */
async function serveOn(
  client: SseClient,
  body: Buffer,
  message: DecodedMessage,
  { req, rooms, trail, identity }: Entered,
): Promise<void> {
  const answer = client.answerTo(req, message.kind === 'request' ? message.idText : undefined);
  try {
    await serveSession(answer, body, message, identity, rooms, trail);
    if (message.kind === 'notification' && message.method === 'notifications/initialized')
      await listen(client, req, rooms);
  } catch (error) {
    noteAnswer(trail, answerError(answer, error, { requestId: trail.id, rpcId: trail.rpcId }), error);
    logFailure(error, rooms, trail);
    if (!(error instanceof RequestError)) return;
    if (error.answer.code === 'session_unknown') client.leave();
    else if (message.kind === 'request' && message.method === 'initialize') client.hasBegun = false;
  }
}

/** What the servers say by themselves comes on the same stream. */
async function listen(client: SseClient, req: IncomingMessage, rooms: Rooms): Promise<void> {
  const session =
    client.sessionId === undefined ? undefined : await rooms.sessions.find(client.sessionId, client.identity.key);
  // It settles with the stream.
  if (!session) return;
  openStream(client.general(req), session, client.identity, undefined, rooms).catch(() => client.leave());
}

/** The session is over with its stream: there is no other way to say so in this transport. */
async function endSession({ sessionId, identity }: SseClient, rooms: Rooms): Promise<void> {
  const session = sessionId === undefined ? undefined : await rooms.sessions.find(sessionId, identity.key);
  if (!session) return;
  await rooms.sessions.end(session);
  endLegs(session, identity, rooms.backends);
}

function tooMany(): RequestError {
  return new RequestError({
    status: 429,
    code: 'too_many_messages',
    text: 'Too many messages of this stream are under way: wait for an answer first',
    headers: { 'Retry-After': '1' },
    rpc: { code: -32603 },
  });
}

function wrongVerb(verb: string): RequestError {
  return new RequestError({
    status: 405,
    code: 'method_not_allowed',
    text: `This path answers ${verb}`,
    headers: { Allow: verb },
  });
}
