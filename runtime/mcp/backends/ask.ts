import type { Identity } from '#runtime/incoming/identity';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import type { Era } from '../era.ts';
import type { AnswerSink, Backend, BackendCall, StreamEvent } from './backend.ts';
import { callFailure, type CallFailure } from './failures.ts';
import { ownRequest } from './own-request.ts';

export interface Question extends Pick<BackendCall, 'session' | 'caller'> {
  readonly identity: Identity;
  readonly era: Era;
  readonly method: string;
  /** JSON text. */
  readonly paramsText: string;
  readonly headers: string[];
  /** Milliseconds. */
  readonly deadline: number;
  readonly isProbe?: boolean;
  /** The receiving pod. Undefined: any. */
  readonly address?: string | undefined;
  /** Takes requests of the backend, which a channel may send on any call. */
  readonly onRequest?: (event: StreamEvent) => void;
}

export interface Answer {
  readonly text: string;
  readonly result: JsonObject | undefined;
  readonly error: { readonly code: number; readonly data: unknown } | undefined;
  readonly sessionId: string | undefined;
  readonly status: number;
}

/** The backend sent no JSON-RPC response. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  readonly failure: CallFailure;
  constructor(failure: CallFailure) {
    super(failure.error.message, { cause: failure.error });
    this.failure = failure;
  }
}

/** The answer may be a JSON-RPC error. @throws NoAnswer */
export function ask(backend: Backend, question: Question): Promise<Answer> {
  const { identity, era, session, caller, method, headers, deadline } = question;
  return new Promise((resolve, reject) => {
    const unanswered = () => reject(new NoAnswer(callFailure(backend.name, 'protocol', true)));
    const done = (text: string, status: number, sessionId?: string) => resolve(read(text, status, sessionId));
    const sink = collect(done, reject, unanswered, question.onRequest);
    backend.send({
      identity,
      era,
      session,
      caller,
      method,
      ...ownRequest(method, question.paramsText),
      verb: 'POST',
      headers,
      deadline,
      idempotent: true,
      isProbe: question.isProbe ?? false,
      address: question.address,
      sink,
    });
  });
}

function collect(
  done: (text: string, status: number, sessionId: string | undefined) => void,
  failed: (error: NoAnswer) => void,
  unanswered: () => void,
  onRequest?: (event: StreamEvent) => void,
): AnswerSink {
  let session: string | undefined;
  return {
    json: (status, body, _kind, sessionId) => done(body.toString('utf8'), status, sessionId),
    open: (_flow, sessionId) => {
      session = sessionId;
    },
    event: (event) => {
      if (event.message?.kind === 'response') done(event.data, 200, session);
      else if (event.message?.kind === 'request') onRequest?.(event);
    },
    accepted: () => undefined,
    close: (complete) => {
      if (!complete) unanswered();
    },
    fail: (failure) => failed(new NoAnswer(failure)),
  };
}

function read(text: string, status: number, sessionId: string | undefined): Answer {
  const message = parse(text);
  const result = isJsonObject(message.result) ? message.result : undefined;
  const { error } = message;
  const code = isJsonObject(error) && typeof error.code === 'number' ? error.code : undefined;
  return {
    text,
    result,
    error: code === undefined ? undefined : { code, data: isJsonObject(error) ? error.data : undefined },
    sessionId,
    status,
  };
}

function parse(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
