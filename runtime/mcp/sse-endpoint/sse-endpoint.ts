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
import { openStream } from '#runtime/mcp/legacy/open-stream';
import { serveLegacy } from '#runtime/mcp/legacy/serve-legacy';
import { endBackendSessions } from '#runtime/mcp/sessions/end-backend-sessions';
import { countedFor } from '#runtime/mcp/sessions/session-limits';
import { noteAnswer, noteMessage } from '#runtime/write-request-record';
import type { Services } from '#runtime/services';
import type { RequestRecord } from '#runtime/request-record';
import { SseClient } from './sse-client.ts';

interface Entered {
  readonly req: IncomingMessage;
  readonly services: Services;
  readonly requestRecord: RequestRecord;
  readonly identity: Identity;
}

const SESSION = 'mcp-session-id';

/** HTTP+SSE (revision 2024-11-05): answers to POSTs go to the stream that a GET opened. */
export class SseEndpoint {
  readonly #services: () => Services;
  readonly #clients = new Map<string, SseClient>();

  constructor(services: () => Services) {
    this.#services = services;
  }

  stream(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const services = this.#services();
    return enter(req, res, services, async (identity, requestRecord) => {
      requestRecord.transport = 'sse';
      requestRecord.method = 'GET';
      if (req.method !== 'GET') throw wrongVerb('GET');
      // The client may have left during authentication.
      if (res.destroyed) return;
      const leave = services.streams.take(countedFor(identity, req, services));
      const client = new SseClient(randomBytes(24).toString('base64url'), identity, res, services.bufferedBytes);
      this.#clients.set(client.id, client);
      const unsubscribe = services.listChangedNotifier.subscribe({
        changed: () => undefined,
        end: () => client.leave(),
      });
      endAtExpiry(res, identity, streamClock(services));
      const closed = new Promise<void>((resolve) => res.once('close', resolve));
      client.open();
      await closed;
      unsubscribe();
      leave();
      this.#clients.delete(client.id);
      await endSession(client, services.latest());
    });
  }

  /** The answer goes to the stream; only immediate refusals are sent here. */
  message(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const services = this.#services();
    return enter(req, res, services, async (identity, requestRecord) => {
      requestRecord.transport = 'sse';
      if (req.method !== 'POST') throw wrongVerb('POST');
      const client = this.#find(req.url ?? '', identity);
      if (client.isBusy()) throw tooMany();
      checkHeaders(req.headers);
      let body = await readBody(req, services.config.limits.max_request_bytes);
      let message = decodeRequest(body);
      if (mentionsTasks(message, 'legacy')) {
        body = withoutTasks(message, body, 'legacy');
        message = decodeRequest(body);
      }
      noteMessage(requestRecord, message, 'legacy');
      services.begin(requestRecord, message);
      // Other messages may have been accepted while this one was read.
      if (client.isBusy()) throw tooMany();
      checkBegun(client, message);
      res.writeHead(202, { 'content-type': 'text/plain' }).end('Accepted');
      // The session is that of this stream, whatever header the client sends.
      if (client.sessionId === undefined) Reflect.deleteProperty(req.headers, SESSION);
      else req.headers[SESSION] = client.sessionId;
      await serveOn(client, body, message, { req, services, requestRecord, identity });
    });
  }

  close(): void {
    for (const client of this.#clients.values()) client.leave();
  }

  /** @throws RequestError 404, also for streams of other principals and of other replicas */
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

/** No stream would own a second session. @throws RequestError 400 */
function checkBegun(client: SseClient, message: DecodedMessage): void {
  if (message.kind !== 'request' || message.method !== 'initialize') return;
  if (client.hasBegun) throw invalidRequest(400, 'already_initialized', 'This stream has its session: open another');
  client.hasBegun = true;
}

async function serveOn(
  client: SseClient,
  body: Buffer,
  message: DecodedMessage,
  { req, services, requestRecord, identity }: Entered,
): Promise<void> {
  const answer = client.answerTo(req, message.kind === 'request' ? message.idText : undefined);
  try {
    await serveLegacy(answer, body, message, identity, services, requestRecord);
    if (message.kind === 'notification' && message.method === 'notifications/initialized')
      await listen(client, req, services);
  } catch (error) {
    noteAnswer(
      requestRecord,
      answerError(answer, error, { requestId: requestRecord.id, rpcId: requestRecord.rpcId }),
      error,
    );
    logFailure(error, services, requestRecord);
    if (!(error instanceof RequestError)) return;
    if (error.answer.code === 'session_unknown') client.leave();
    else if (message.kind === 'request' && message.method === 'initialize') client.hasBegun = false;
  }
}

async function listen(client: SseClient, req: IncomingMessage, services: Services): Promise<void> {
  const session =
    client.sessionId === undefined ? undefined : await services.sessions.find(client.sessionId, client.identity.key);
  // This settles with the stream.
  if (!session) return;
  openStream(client.general(req), session, client.identity, undefined, services).catch(() => client.leave());
}

/** This transport has no other way to end a session. */
async function endSession({ sessionId, identity }: SseClient, services: Services): Promise<void> {
  const session = sessionId === undefined ? undefined : await services.sessions.find(sessionId, identity.key);
  if (!session) return;
  await services.sessions.end(session);
  endBackendSessions(session, identity, services.backends);
}

function tooMany(): RequestError {
  return new RequestError({
    status: 429,
    code: 'too_many_messages',
    text: 'Too many messages of this stream are in flight: wait for an answer first',
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
