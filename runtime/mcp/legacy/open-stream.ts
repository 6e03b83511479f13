import type { ServerResponse } from 'node:http';
import { endAtExpiry, streamClock } from '#runtime/http/end-at-expiry';
import type { Identity } from '#runtime/incoming/identity';
import { callDeadline } from '#runtime/mcp/relay/call-deadline';
import { ClientStream } from '#runtime/mcp/relay/client-stream';
import { renderRpcError } from '#runtime/http/answer-error';
import { writeSse } from '#runtime/mcp/sse/write-sse';
import { isIdText } from '#runtime/mcp/envelope/message-id';
import { decodeEventId, GENERAL, type EventPosition } from '#runtime/mcp/sse/event-id';
import type { Services } from '#runtime/services';
import { RequestError } from '#runtime/errors';
import type { AnswerSink, Flow } from '../backends/backend.ts';
import { invalidRequest } from '../route/refusals.ts';
import { awaitsClient, endQuestionsOf } from '../sessions/client-questions.ts';
import { enterCall, keepCall, leaveCall, sentCallOf } from '../sessions/in-flight.ts';
import { backendSessionHeaders } from '../sessions/open-backend-session.ts';
import { countedFor } from '../sessions/session-limits.ts';
import {
  backendSessionOf,
  type BackendSession,
  type Session,
  whileInUse,
  type InFlightCall,
} from '../sessions/session.ts';
import { tellGivenUp } from './cancel-call.ts';
import { GeneralStream } from './general-stream.ts';
import { relayedEvent, relayedEventId, type EventSource } from './relayed-event.ts';

/** Opens the client's general stream, or resumes one with Last-Event-ID. Settles when it is over. */
export function openStream(
  res: ServerResponse,
  session: Session,
  identity: Identity,
  lastEventId: string | undefined,
  services: Services,
): Promise<void> {
  const position = lastEventId === undefined ? undefined : readPosition(lastEventId);
  // The client may have left during authentication; no further close event follows.
  if (res.destroyed) return Promise.resolve();
  if (position && position.stream !== GENERAL)
    return whileInUse(session, () => resumeCall(res, session, identity, position, services));
  return new Promise((resolve) => {
    const lastIds = session.stream?.lastIds() ?? new Map<string, string>();
    if (position) lastIds.set(position.backend, position.original);
    // A message is sent on one stream only: the newest.
    session.stream?.close();
    const stream = new GeneralStream(session, identity, services, new ClientStream(res));
    session.stream = stream;
    services.sessions.tellStream(session);
    endAtExpiry(res, identity, streamClock(services));
    res.once('close', () => {
      stream.close();
      resolve();
    });
    stream.open(lastIds);
  });
}

/** The client may have invented it, and the stream's name goes into messages for the backend. @throws RequestError */
function readPosition(lastEventId: string): EventPosition {
  const position = decodeEventId(lastEventId);
  if (position && (position.stream === GENERAL || isIdText(position.stream))) return position;
  throw invalidRequest(400, 'unknown_event_id', 'Last-Event-ID is not an id of this server');
}

/** @throws RequestError */
function resumeCall(
  res: ServerResponse,
  session: Session,
  identity: Identity,
  position: EventPosition,
  services: Services,
): Promise<void> {
  const backend = services.backends.get(position.backend);
  const backendSession = backendSessionOf(session, position.backend);
  if (!backend || !backendSession) throw invalidRequest(404, 'stream_gone', 'The stream to resume is gone');
  if (session.cancelled?.has(position.stream)) throw notResumed();
  res.once('close', services.streams.take(countedFor(identity, res.req, services)));
  endAtExpiry(res, identity, streamClock(services));
  return new Promise((resolve, reject) => {
    const client = new ClientStream(res);
    const call: InFlightCall = {
      ...(sentCallOf(session, backend.name, position.stream) ?? { backend: backend.name, progressToken: null }),
      isResumable: true,
      cancel: () => {
        running.abort(true);
        if (res.headersSent) client.end();
        else reject(notResumed());
      },
    };
    const source = { backend, session, services, stream: position.stream, call, backendSession, identity };
    enterCall(session, position.stream, call);
    const running = backend.send({
      identity,
      era: 'legacy',
      method: 'GET',
      idText: undefined,
      resumes: position.stream,
      verb: 'GET',
      body: undefined,
      headers: backendSessionHeaders(backendSession).concat(['last-event-id', position.original]),
      address: backendSession.address,
      deadline: callDeadline(services, backend.name),
      maximum: services.config.operational.timeouts.maximum,
      idempotent: true,
      sink: resumedSink(client, source, resolve, reject),
    });
    const unsubscribe = services.listChangedNotifier.subscribe({ changed: () => undefined, end: () => client.end() });
    res.once('close', () => {
      unsubscribe();
      keepCall(session, position.stream, call);
      running.abort();
      resolve();
    });
  });
}

/** 405: SDK clients resume even the streams of requests that they cancelled, and accept a 405 to a GET. */
function notResumed(): RequestError {
  return new RequestError({
    status: 405,
    code: 'request_cancelled',
    text: 'The request of this stream was cancelled',
    headers: { Allow: 'POST, DELETE' },
  });
}

/** Clients take any 200 for the requested stream and would resume it without limit at its end. */
function notReached({ answer }: RequestError): RequestError {
  return new RequestError({ ...answer, status: answer.status === 200 ? 502 : answer.status });
}

interface ResumedCall extends EventSource {
  readonly call: InFlightCall;
  readonly backendSession: BackendSession;
}

function resumedSink(
  client: ClientStream,
  source: ResumedCall,
  resolve: () => void,
  reject: (error: Error) => void,
): AnswerSink {
  const { session, stream, backendSession } = source;
  const refuse = () => reject(invalidRequest(404, 'stream_gone', 'The stream to resume is gone'));
  let flow: Flow | undefined;
  return {
    awaitsClient: () => awaitsClient(session, source.backend.name, stream),
    json: refuse,
    accepted: refuse,
    open: (opened) => {
      flow = opened;
      client.open();
    },
    event: (event) => {
      const { message } = event;
      // Only an answer to this stream's request passes.
      if (message?.kind === 'response' && message.idText !== stream) return;
      if (message?.kind === 'response') endCall(source);
      const text = relayedEvent(event, source);
      if (text !== undefined) client.write(text, flow);
    },
    part: (bytes, opened) => client.writePart(bytes, opened),
    ended: (_kind, event) => {
      endCall(source);
      if (flow) client.endEvent({ id: relayedEventId(event?.id, source), retry: event?.retry }, flow);
    },
    close: () => {
      client.end();
      resolve();
    },
    fail: (failure) => {
      const isTimeout = failure.reason === 'timeout';
      if (isTimeout) tellGivenUp(backendSession, { ...source, message: { idText: stream } });
      // Without an answer the client would resume the stream again and again.
      if (!client.cutEvent() && isTimeout && flow) {
        endCall(source);
        client.write(writeSse({ event: 'message', data: renderRpcError(failure.error.answer, stream) }));
      }
      if (flow) client.end();
      reject(flow ? failure.error : notReached(failure.error));
    },
  };
}

function endCall({ session, stream, call, backend }: ResumedCall): void {
  leaveCall(session, stream, call);
  endQuestionsOf(session, backend.name, stream);
}
