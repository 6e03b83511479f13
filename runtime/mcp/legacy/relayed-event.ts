import type { Identity } from '#runtime/incoming/identity';
import { mintRequestId } from '#runtime/mcp/envelope/mint-request-id';
import { decodeBackendMessage, type BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { readIdText } from '#runtime/mcp/envelope/message-id';
import { PROGRESS } from '#runtime/mcp/envelope/progress-token';
import { spliceText } from '#runtime/mcp/envelope/splice';
import { encodeEventId, GENERAL } from '#runtime/mcp/sse/event-id';
import { writeSse } from '#runtime/mcp/sse/write-sse';
import type { Services } from '#runtime/services';
import { kindsOfNotification } from '../aggregate/list-kinds.ts';
import type { Backend, StreamEvent } from '../backends/backend.ts';
import { isSubResource } from '../route/is-sub-resource.ts';
import { endQuestion, noteQuestion } from '../sessions/client-questions.ts';
import { notify } from '../sessions/open-backend-session.ts';
import { backendSessionOf, type SentCall, type Session } from '../sessions/session.ts';
import { withKnownTask, withRelatedTask } from './session-tasks.ts';
import { isExpectedProgress } from './expected-progress.ts';

const TASK_STATUS = 'notifications/tasks/status';
const RESOURCE_UPDATED = 'notifications/resources/updated';

export interface EventSource {
  readonly backend: Backend;
  /** `GENERAL`, or the JSON text of the id of the stream's request. */
  readonly stream: string;
  /** Undefined: the stream is the backend's own. */
  readonly call: SentCall | undefined;
  readonly session: Session;
  readonly identity: Identity;
  readonly services: Services;
  /** The client's id of the task to which all messages of the stream belong. */
  readonly relatedTask?: string | undefined;
}

/** Event id and request id name the backend; reserved `_meta` is removed. Undefined: not for the client. */
export function relayedEvent(event: StreamEvent, source: EventSource): string | undefined {
  const data = event.message === undefined ? '' : withRelated(relayedData(event.data, event.message, source), source);
  if (data === undefined) return undefined;
  const id = relayedEventId(event.id, source);
  return writeSse({ id, event: data === '' ? undefined : 'message', retry: event.retry, data });
}

export function relayedEventId(original: string | undefined, { backend, stream }: EventSource): string | undefined {
  return original === undefined ? undefined : encodeEventId({ backend: backend.name, stream, original });
}

function relayedData(data: string, message: BackendMessage, source: EventSource): string | undefined {
  if (message.hasReservedMeta) {
    const clean = message.cleanText(data);
    const again = decodeBackendMessage(clean);
    return again && relayedData(clean, again, source);
  }
  if (message.kind === 'request') return withMintedId(data, message, source);
  if (message.kind === 'notification') return relayedNotification(data, message, source);
  if (source.stream === GENERAL) return undefined;
  return data;
}

function withRelated(data: string | undefined, { relatedTask }: EventSource): string | undefined {
  return data === undefined || relatedTask === undefined ? data : withRelatedTask(data, relatedTask);
}

function withMintedId(data: string, message: BackendMessage, source: EventSource): string | undefined {
  const span = message.spans.id;
  if (!span || message.idText === undefined) return undefined;
  const id = mintRequestId(source.backend.name, message.idText);
  noteAsked(id, source);
  const token = message.spans['params._meta.progressToken'];
  const tokenText = token && readIdText(data.slice(token.start, token.end));
  const edits = [{ ...span, text: `"${id}"` }];
  // SDKs of several backends count their tokens from 0.
  if (token && tokenText !== undefined)
    edits.push({ ...token, text: `"${mintRequestId(source.backend.name, tokenText)}"` });
  return spliceText(data, edits);
}

/** A request on the streams of a channel names no call. */
function noteAsked(id: string, { backend, session, stream, identity, services }: EventSource): void {
  const isOfCall = stream !== GENERAL && backend.config.transport === 'streamable-http';
  const asking = backendSessionOf(session, backend.name);
  const answer = async (body: Buffer) =>
    asking !== undefined && notify(asking, asking.at, identity, services.config.limits.list_deadline, body);
  noteQuestion(session, id, { backend: backend.name, at: backend, call: isOfCall ? stream : undefined, answer });
  if (!isOfCall) services.sessions.tellOfCall(session, { type: 'asked', id, backend: backend.name });
}

function relayedNotification(data: string, message: BackendMessage, source: EventSource): string | undefined {
  const { backend, services, session, stream } = source;
  const kinds = kindsOfNotification(message.method ?? '');
  if (kinds.length > 0) {
    // This client is told on the call's stream, all others on their own.
    services.listChangedNotifier.noteChange(backend.name, kinds, stream === GENERAL ? undefined : session);
    return stream === GENERAL ? undefined : data;
  }
  const span = message.spans['params.requestId'];
  if (message.method === 'notifications/cancelled' && span) {
    const idText = readIdText(data.slice(span.start, span.end));
    if (idText === undefined) return undefined;
    const id = mintRequestId(backend.name, idText);
    endQuestion(session, id);
    services.sessions.tellOfCall(session, { type: 'answered', id });
    return spliceText(data, [{ ...span, text: `"${id}"` }]);
  }
  if (message.method === TASK_STATUS) return withKnownTask(data, message, session, backend.name);
  return isAwaited(data, message, source) ? data : undefined;
}

function isAwaited(data: string, message: BackendMessage, source: EventSource): boolean {
  if (message.method === RESOURCE_UPDATED) return isSubscribed(uriOf(data, message), source);
  return message.method !== PROGRESS || isExpectedProgress(data, message, source);
}

function uriOf(data: string, { spans }: BackendMessage): unknown {
  const span = spans['params.uri'];
  return span && parse(data.slice(span.start, span.end));
}

/** A subscription to a parent counts. */
function isSubscribed(uri: unknown, { session, backend }: EventSource): boolean {
  const { subscriptions } = session;
  if (typeof uri !== 'string' || !subscriptions) return false;
  const owner = subscriptions.get(uri);
  if (owner !== undefined) return owner === backend.name;
  for (const [whole, at] of subscriptions) if (at === backend.name && isSubResource(uri, whole)) return true;
  return false;
}

function parse(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    return undefined;
  }
}
