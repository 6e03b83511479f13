import type { Backend as BackendConfig } from '#crds/run-config/backend';
import type { Identity } from '#runtime/incoming/identity';
import type { AnswerKind, BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import type { Spans } from '#runtime/mcp/envelope/scan-envelope';
import type { LargeData } from '#runtime/mcp/sse/parse-sse';
import type { Credential } from '#runtime/outgoing/credential';
import type { Authorizer } from '#runtime/policy/authorizer';
import type { RequestTrace } from '#runtime/request-record';
import type { WebhookGate } from '#runtime/webhooks/webhook-call';
import type { Era } from '../era.ts';
import type { Breaker } from './breaker.ts';
import type { CallFailure } from './failures.ts';
import type { BackendHealth } from './health.ts';

/** Pauses and resumes a stream for a slow reader. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/** One event of a backend's stream. `message` is undefined if the event has no data and only carries an id. */
export interface StreamEvent {
  readonly id: string | undefined;
  readonly retry: number | undefined;
  readonly data: string;
  readonly message: BackendMessage | undefined;
}

/** Receives a backend's answer: exactly one of `json`, `accepted`, `fail`, or `open` (event*) `close`. */
export interface AnswerSink {
  /**
   * Receives the whole answer: one JSON-RPC response with a checked envelope. `sessionId` is the value of the backend's
   * session header. `spans`: positions in the body, if they are known.
   */
  json(status: number, body: Buffer, kind: AnswerKind, sessionId: string | undefined, spans?: Spans): void;
  /**
   * Receives bytes of an answer that is too large to buffer. They are checked as they arrive; then `ended` or `fail`
   * follows. After `open`, the parts form one event without line ends, and `event` holds its fields. A sink without
   * `part` and `ended` gets the answer in one piece.
   */
  part?(bytes: readonly Buffer[], flow: Flow): void;
  ended?(kind: AnswerKind, event?: Pick<StreamEvent, 'id' | 'retry'>): void;
  /**
   * Returns the receiver for the data of a large event. Without it, the reader buffers the event and passes it to
   * `event`.
   */
  large?(): LargeData;
  /** The backend accepted a notification or response (202). */
  accepted(): void;
  open(flow: Flow, sessionId: string | undefined): void;
  event(event: StreamEvent): void;
  /** Receives an event whose data is no JSON-RPC message. */
  named?(name: string | undefined, data: string): void;
  /**
   * The stream ended. `complete`: the response was among its events. `isBroken`: the connection broke before the
   * response.
   */
  close(complete: boolean, isBroken?: boolean): void;
  fail(failure: CallFailure): void;
  /** Returns whether the call waits for its client to answer a request. The deadline pauses meanwhile. */
  awaitsClient?(): boolean;
}

/** The session of a legacy client, as far as a bridge needs it. */
export interface CallerSession {
  /** JSON texts, as in `ClientProfile`. */
  readonly profile: { readonly paramsText: string; readonly capabilities: string };
  readonly logLevel: string | undefined;
  /** Subscribed URI to backend. */
  readonly subscriptions: ReadonlyMap<string, string> | undefined;
}

/** Declarations of a modern client with each request. JSON texts. */
export interface CallerMeta {
  readonly capabilities: string;
  readonly clientInfo: string | undefined;
}

/** One message to a backend. */
export interface BackendCall {
  readonly identity: Identity;
  readonly era: Era;
  /** The legacy client's session. Undefined: a message that needs none, such as a probe. */
  readonly session?: CallerSession | undefined;
  /** The modern client's declarations. Undefined: those of the gateway. */
  readonly caller?: CallerMeta | undefined;
  /** The address of an anonymous caller, whose parked calls are counted by it. */
  readonly source?: string | undefined;
  readonly method: string;
  /** JSON text of the request id. Undefined for notifications, responses and streams that only listen. */
  readonly idText: string | undefined;
  /** JSON text of the id of the request whose stream a GET resumes. */
  readonly resumes?: string;
  /** POST sends a message, GET opens the backend's own stream, DELETE ends a session. */
  readonly verb: 'POST' | 'GET' | 'DELETE';
  /** JSON-RPC message of a POST. */
  readonly body: Buffer | undefined;
  /** Flat list of header names and values, in addition to the headers of every request. */
  readonly headers: string[];
  /** The pod that owns the session. Undefined: any pod. */
  readonly address?: string | undefined;
  /** Path and query at the backend's origin. Absent: those of its URL. */
  readonly path?: string | undefined;
  /** Milliseconds without progress after which the call fails; 0: never. */
  readonly deadline: number;
  /** Milliseconds after which the call ends even with progress. Undefined: never. */
  readonly maximum?: number;
  /** Whether the call may be repeated if the connection broke after it was sent. */
  readonly idempotent: boolean;
  /** Whether it is a health probe. The circuit breaker and the limit of calls ignore probes. */
  readonly isProbe?: boolean;
  /** Whether it may be parked. It has a connection of its own, as a client's input takes long. */
  readonly mayPark?: boolean;
  /**
   * Whether it is a notification, the answer to a backend request, or the end of a session. The call queue must not
   * block it, because queued calls may depend on it.
   */
  readonly isOneWay?: boolean;
  /** Undefined: the call is not traced. */
  readonly trace?: RequestTrace | undefined;
  readonly sink: AnswerSink;
}

/** Allows the sender of a call to end it. */
export interface RunningCall {
  /** Whether the gateway paused reading until other calls release memory. */
  readonly isHeld: boolean;
  /**
   * Ends the call at once. `cancelled`: the client cancelled it. A channel, which has its own id for the call, then
   * notifies the server.
   */
  abort(cancelled?: boolean): void;
  /** A parked call waits for its client, and takes no place of the backend. Absent: it keeps its place. */
  park?(isParked: boolean): void;
  /** Another replica changed the subscriptions of the session. Absent: the backend knows them already. */
  refresh?(): void;
}

/** Numbers of open sessions, and of calls that wait for their client's input. */
export interface BridgeLoad {
  readonly sessions: number;
  readonly parked: number;
}

/** An active backend. It has two implementations: streamable HTTP, and channels (processes, event streams). */
export interface Backend {
  readonly name: string;
  readonly config: BackendConfig;
  readonly credential: Credential;
  /** The policies of this backend. The policies of the server are evaluated separately. */
  readonly authorizer: Authorizer | undefined;
  /** Webhooks that the gateway calls before each tool call. Undefined: there are none. */
  readonly webhooks: WebhookGate | undefined;
  readonly health: BackendHealth;
  readonly breaker: Breaker;
  /** Whether each client session has its own backend session (false: one process for all). */
  readonly sessions: boolean;
  /** Whether backend session state ends with this process. */
  readonly losesState: boolean;
  /** Whether its configuration is invalid, so no call reaches it. */
  readonly isOutOfService?: boolean;
  /** Number of running calls, without those that wait for their client. */
  readonly running: number;
  /** Load of the bridge for clients of 2026-07-28. Absent: the backend has no bridge. */
  readonly bridged?: BridgeLoad;
  /** Maximum number of concurrent calls: those that are sent, and those in the queue. */
  readonly places: { readonly perBackend: number; readonly queue: number };
  /** Returns the age of the oldest call in milliseconds, measured from its first check; 0 without calls. */
  oldestCall(): number;
  /** Number of processes or event streams that were started. Undefined: it has none. */
  readonly starts?: number | undefined;
  /** Warnings about the use of the backend for administrators. */
  readonly warnings?: readonly string[];
  send(call: BackendCall): RunningCall;
  /** Reports how the shared process ended, in the gateway's own words, and undefined once the next one serves. */
  onProcess?(listener: (end: string | undefined) => void): void;
  /** Returns the pod for the next session. Absent: the backend has a single address. */
  pickAddress?(): Promise<string | undefined> | undefined;
  /** Retires the backend: streams that only listen end, and calls continue until `close`. */
  retire?(): Promise<void>;
  close(): Promise<void>;
}
