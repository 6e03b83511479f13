import type { ListKind } from '#runtime/mcp/aggregate/list-kinds';
import type { Catalogue } from '#runtime/mcp/aggregate/catalogue';
import type { Backend } from '#runtime/mcp/backends/backend';
import { sessionLogId } from './session-log-id.ts';
import type { ServerCapabilities } from './capabilities.ts';

/** The principal that opens a session. */
export type SessionOwner = Pick<Session, 'principal' | 'countedFor'>;

/** A request of a session whose answer has not reached the client. */
export interface InFlightCall {
  /** Name of the backend that it was sent to. */
  readonly backend: string;
  /** The canonical JSON text of the client's progress token. Undefined: the client wants no progress. Null: this process does not know it. */
  readonly progressToken: string | null | undefined;
  /** Whether the client can resume the stream of its answer. */
  readonly isResumable: boolean;
  /** Ends the client's stream without an answer, and releases what the call holds. The caller informs the backend. */
  cancel(): void;
}

/** A request that was sent to a backend. */
export type SentCall = Pick<InFlightCall, 'backend' | 'progressToken'>;

/** A request of a backend that the client has not answered. */
export interface ClientQuestion {
  readonly backend: string;
  /** JSON text of the id of the call on whose stream it came; undefined: it may belong to any call at the backend. */
  readonly call: string | undefined;
  /** The backend object that asked. A reload may replace it, and only this one knows the question. Absent as `answer`. */
  readonly at?: Backend;
  /** Passes the answer to the backend. Returns whether it took it. Absent if another replica sent the request. */
  readonly answer?: (body: Buffer) => Promise<boolean>;
}

/** The client's `initialize` request. Sessions with equal profiles share one object. */
export interface ClientProfile {
  /** JSON text of the initialize params, as the client wrote them. */
  readonly paramsText: string;
  /** JSON text of the declared capabilities. A backend's lists may depend on them. */
  readonly capabilities: string;
  /** The negotiated revision. */
  readonly revision: string;
  readonly clientName: string | undefined;
  readonly clientVersion: string | undefined;
}

/** A client session's own session at one backend. */
export interface BackendSession {
  readonly backend: string;
  /** The backend object that opened it. A reload may replace the backend under this name. */
  readonly at: Backend;
  /** undefined: the backend has no sessions. */
  sessionId: string | undefined;
  revision: string;
  capabilities: ServerCapabilities;
  initialized: boolean;
  /** The pod that knows the session, if the backend has several. */
  readonly address?: string | undefined;
  /** One-way messages that the backend has not read yet. Absent: none. */
  untaken?: number;
}

/** The stream for messages to the client that belong to no request. */
export interface SessionStream {
  /** Identifies the stream to other replicas. */
  readonly id: string;
  /** Whether the event that this stream opened has reached this replica, or may be lost. */
  isTold: boolean;
  /** Adds a backend session that opened after the stream. It replaces one that its backend no longer knows. */
  join(backendSession: BackendSession): void;
  /** Closes the streams of these backends. */
  leave(backends: readonly string[]): void;
  /** Another replica changed the session's subscriptions. */
  refresh(): void;
  /** Tells the client that lists have changed. */
  announce(kinds: ReadonlySet<ListKind>): void;
  /** Returns the id of the last event of each backend, for the client's next stream. */
  lastIds(): Map<string, string>;
  close(): void;
}

/** A client session. It holds little more than ids, so that ten thousand idle sessions need little memory. */
export interface Session {
  readonly id: string;
  /** The name of the session in log, audit and spans, see `sessionLogId`. */
  readonly logId: string;
  /** `Identity.key` of its owner. For other principals the session does not exist. */
  readonly principal: string;
  /** The caller that the session limit of a principal applies to, see `countedFor`. */
  readonly countedFor: string;
  readonly profile: ClientProfile;
  backendSessions: BackendSession[];
  /** Milliseconds of the monotonic clock. */
  readonly openedAt: number;
  lastUsed: number;
  /** When the last sweep found an open stream or a call. The idle time counts from then. */
  lastBusy: number;
  /** The client has sent notifications/initialized. */
  initialized: boolean;
  logLevel: string | undefined;
  /** Resources that the client subscribed to: URI to backend. */
  subscriptions: Map<string, string> | undefined;
  /** Requests whose answer has not reached the client, by the JSON text of their ids. */
  inFlight: Map<string, InFlightCall> | undefined;
  /** Requests with progress tokens that other replicas sent, by the JSON text of their ids. */
  sentElsewhere?: Map<string, SentCall> | undefined;
  /** Look again at progress that arrived before the token that another replica published. */
  earlyReports?: Set<() => void> | undefined;
  /** Ids of cancelled requests. Clients may try to resume their streams, or the request may still arrive until this time of `lastUsed`. */
  cancelled?: Map<string, number> | undefined;
  /** Requests of backends that the client has not answered, by the ids that the client knows. */
  questions?: Map<string, ClientQuestion> | undefined;
  /** Backend sessions that are opening, so that each opens once. */
  opening: Map<Backend, Promise<BackendSession>> | undefined;
  /** Logins that the client was asked to open: elicitation id to provider. */
  elicitations?: Map<string, string> | undefined;
  /** Tasks that calls of this session created, by `taskKey`: the client's ids. */
  tasks?: Map<string, string> | undefined;
  /** Backends where the session has state that ends with this process. */
  stateAt?: Set<string> | undefined;
  /** Backends whose state was lost. The client is told once for each. */
  lostAt?: Set<string> | undefined;
  stream: SessionStream | undefined;
  catalogue: Catalogue | undefined;
  /** Lists that changed while the session had no open stream. */
  changed: Set<ListKind> | undefined;
  /** Calls in flight. The session is not idle meanwhile. */
  calls: number;
  /** Whether the session has ended. Backend sessions that finish opening later are closed. */
  isOver: boolean;
}

/** Returns a session without backend sessions. Times are milliseconds of the monotonic clock. */
export function newSession(
  of: Pick<Session, 'id' | 'principal' | 'countedFor' | 'profile' | 'openedAt' | 'lastUsed'>,
): Session {
  return {
    ...of,
    logId: sessionLogId(of.id),
    backendSessions: [],
    initialized: false,
    lastBusy: of.openedAt,
    logLevel: undefined,
    subscriptions: undefined,
    inFlight: undefined,
    opening: undefined,
    stream: undefined,
    catalogue: undefined,
    changed: undefined,
    calls: 0,
    isOver: false,
  };
}

/** Counts work for a client as a call, so that its session does not become idle. */
export async function whileInUse<T>(session: Session, work: () => Promise<T>): Promise<T> {
  session.calls++;
  try {
    return await work();
  } finally {
    session.calls--;
  }
}

export function backendSessionOf(session: Session, backend: string): BackendSession | undefined {
  for (const backendSession of session.backendSessions) if (backendSession.backend === backend) return backendSession;
  return undefined;
}
