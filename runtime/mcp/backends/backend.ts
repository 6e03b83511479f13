import type { Backend as BackendConfig } from '#crds/run-config/backend';
import type { Identity } from '#runtime/incoming/identity';
import type { AnswerKind, BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import type { LargeData } from '#runtime/mcp/sse/parse-sse';
import type { Credential } from '#runtime/outgoing/credential';
import type { Authorizer } from '#runtime/policy/authorizer';
import type { RequestTrace } from '#runtime/trail';
import type { WebhookGate } from '#runtime/webhooks/webhook-call';
import type { Era } from '../era.ts';
import type { Breaker } from './breaker.ts';
import type { CallFailure } from './failures.ts';
import type { BackendHealth } from './health.ts';

/** Holds back a stream whose reader is slow. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/** One event of a backend's stream. `message` is undefined for an event without data, which only carries an id. */
export interface StreamEvent {
  readonly id: string | undefined;
  readonly retry: number | undefined;
  readonly data: string;
  readonly message: BackendMessage | undefined;
}

/** Where a backend's answer goes: exactly one of `json`, `accepted`, `fail`, or `open` (event*) `close`. */
export interface AnswerSink {
  /**
   * The whole answer: one JSON-RPC response, its envelope checked; `sessionId` is what the backend's header names.
   */
  json(status: number, body: Buffer, kind: AnswerKind, sessionId: string | undefined): void;
  /**
   * Some bytes of an answer that is too large to be kept, already checked as far as they go; then `ended`, or `fail`. After `open`
   * they are one event without line ends, `event` being its fields. Without these two it is kept all the same.
   */
  part?(bytes: readonly Buffer[], flow: Flow): void;
  ended?(kind: AnswerKind, event?: Pick<StreamEvent, 'id' | 'retry'>): void;
  /** Takes the data of a large event as it comes. Without it the event is kept, and given to `event`. */
  large?(): LargeData;
  /** A notification or response was taken (202). */
  accepted(): void;
  open(flow: Flow, sessionId: string | undefined): void;
  event(event: StreamEvent): void;
  /** An event whose data is no JSON-RPC message. */
  named?(name: string | undefined, data: string): void;
  /** The stream ended; `complete`: the response was among its events. `isBroken`: its connection broke before that. */
  close(complete: boolean, isBroken?: boolean): void;
  fail(failure: CallFailure): void;
  /** Whether the call waits for its client, which is asked something: meanwhile its deadline does not run. */
  awaitsClient?(): boolean;
}

/** One message on its way to a backend. */
export interface BackendCall {
  readonly identity: Identity;
  readonly era: Era;
  readonly method: string;
  /** JSON text of the request's id; undefined for a notification, a response, or a stream that is only listened to. */
  readonly idText: string | undefined;
  /** JSON text of the id of the request whose stream a GET resumes. */
  readonly resumes?: string;
  /** POST carries a message, GET opens the backend's own stream, DELETE ends a session. */
  readonly verb: 'POST' | 'GET' | 'DELETE';
  /** JSON-RPC message of a POST. */
  readonly body: Buffer | undefined;
  /** Flat list of names and values beyond what every request carries. */
  readonly headers: string[];
  /** The pod whose session it belongs to; undefined: whichever there is. */
  readonly address?: string | undefined;
  /** Path and query at the backend's origin, where they are not those of its URL. */
  readonly path?: string | undefined;
  /** Milliseconds without a sign of life after which the call is given up; 0: never. */
  readonly deadline: number;
  /** Milliseconds after which it ends whatever is heard of it; undefined: never. */
  readonly maximum?: number;
  /** Whether it may be sent again when the connection broke after it was sent. */
  readonly idempotent: boolean;
  /** A health probe: it is no live request, so neither the circuit breaker nor the limit of calls concerns it. */
  readonly isProbe?: boolean;
  /** A notification, or the answer to a request of the backend: calls that wait for it must not keep it out. */
  readonly isOneWay?: boolean;
  /** undefined: it is not traced. */
  readonly trace?: RequestTrace | undefined;
  readonly sink: AnswerSink;
}

/** Lets the one who sent a call give it up. */
export interface RunningCall {
  /** The gateway reads no more of it until others have given back the memory that they use. */
  readonly isHeld: boolean;
  /** Ends it at once. `cancelled`: by its client; a channel, which has its own id for the call, tells the server. */
  abort(cancelled?: boolean): void;
}

/** One backend that is in force. Two implementations: over streamable HTTP, and by channels (processes, event streams). */
export interface Backend {
  readonly name: string;
  readonly config: BackendConfig;
  readonly credential: Credential;
  /** The policies of this backend by itself; those of the server are decided beside it. */
  readonly authorizer: Authorizer | undefined;
  /** Asked before each call of a tool; undefined: nobody is. */
  readonly webhooks: WebhookGate | undefined;
  readonly health: BackendHealth;
  readonly breaker: Breaker;
  /** Whether each client session has a session of its own here (false: one process for all). */
  readonly sessions: boolean;
  /** Whether what a session has here ends with this process. */
  readonly losesState: boolean;
  /** Whether its configuration cannot be used: no call reaches it. */
  readonly isOutOfService?: boolean;
  /** Calls under way. */
  readonly running: number;
  /** Calls that may be under way at a time: those that are sent, and those that wait. */
  readonly places: { readonly perBackend: number; readonly queue: number };
  /** Milliseconds since the oldest call began, counted from the first look at it; 0 without one. */
  oldestCall(): number;
  /** What an administrator should know of how it is used. */
  readonly warnings?: readonly string[];
  send(call: BackendCall): RunningCall;
  /** Tells how the process that serves all has ended, in words of this program, and undefined when the next one serves. */
  onProcess?(listener: (end: string | undefined) => void): void;
  /** The pod at which the next session is to begin; absent: there is one only. */
  pickAddress?(): Promise<string | undefined> | undefined;
  /** It is no longer in force: what only listens ends, calls go on until it is closed. */
  retire?(): Promise<void>;
  close(): Promise<void>;
}
