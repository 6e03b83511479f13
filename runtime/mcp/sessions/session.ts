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
  /** The client resumes the stream of its answer when that ends early. */
  readonly isResumable: boolean;
  /** Ends the client's stream without an answer and frees what the call holds. The caller tells the backend. */
  cancel(): void;
}

/** A request of a backend that the client has not answered. */
export interface ClientQuestion {
  readonly backend: string;
  /** JSON text of the id of the call on whose stream it came; undefined: it may belong to any call at the backend. */
  readonly call: string | undefined;
  /** Passes the answer to the backend; absent: another replica asks. */
  readonly answer?: (body: Buffer) => void;
}

/** What a client said of itself at `initialize`. Equal profiles are one object, shared by their sessions. */
export interface ClientProfile {
  /** JSON text of the initialize params, as the client wrote them. */
  readonly paramsText: string;
  /** JSON text of the declared capabilities: what a backend lists may depend on them. */
  readonly capabilities: string;
  /** The revision that was agreed. */
  readonly revision: string;
  readonly clientName: string | undefined;
  readonly clientVersion: string | undefined;
}

/** A client session's own session at one backend. */
export interface Leg {
  readonly backend: string;
  /** Where it was opened: a reload may put another backend of that name in its place. */
  readonly at: Backend;
  /** undefined: the backend works without sessions. */
  sessionId: string | undefined;
  revision: string;
  capabilities: ServerCapabilities;
  initialized: boolean;
  /** The pod that knows it, of a backend with several. */
  readonly address?: string | undefined;
  /** Messages of one way that the backend has not taken yet. Absent: none. */
  untaken?: number;
}

/** The stream on which the client receives messages that belong to no request of its own. */
export interface SessionStream {
  /** Identifies the stream to other replicas. */
  readonly id: string;
  /** Whether the event that this stream opened has reached this replica, or may be lost. */
  isTold: boolean;
  /** Adds a leg that was opened after the stream. It replaces a leg that its backend has forgotten. */
  join(leg: Leg): void;
  /** Closes the streams of these backends. */
  leave(backends: readonly string[]): void;
  /** Tells the client that lists have changed. */
  announce(kinds: ReadonlySet<ListKind>): void;
  /** Returns the id of the last event of each backend, for the client's next stream. */
  lastIds(): Map<string, string>;
  close(): void;
}

/** A client session: little more than ids, so that ten thousand idle ones are cheap. */
export interface Session {
  readonly id: string;
  /** Names it in log, audit and spans, see `sessionLogId`. */
  readonly logId: string;
  /** `Identity.key` of its owner: to anybody else it does not exist. */
  readonly principal: string;
  /** Whom the bound of sessions of a principal concerns, see `countedFor`. */
  readonly countedFor: string;
  readonly profile: ClientProfile;
  legs: Leg[];
  /** Milliseconds of the monotonic clock. */
  readonly openedAt: number;
  lastUsed: number;
  /** When it was last found with an open stream or a call: it does not end by idleness soon after. */
  lastBusy: number;
  /** The client has sent notifications/initialized. */
  initialized: boolean;
  logLevel: string | undefined;
  /** Resources that the client wants to hear of: URI to backend. */
  subscriptions: Map<string, string> | undefined;
  /** Requests whose answer has not reached the client, by the JSON text of their ids. */
  inFlight: Map<string, InFlightCall> | undefined;
  /** Ids of cancelled requests whose streams clients try to resume, or which may still come until this time of `lastUsed`. */
  cancelled?: Map<string, number> | undefined;
  /** Requests of backends that the client has not answered, by the ids that it knows. */
  questions?: Map<string, ClientQuestion> | undefined;
  /** Legs being opened, so that each opens once. */
  opening: Map<Backend, Promise<Leg>> | undefined;
  /** Logins that the client was asked to open: elicitation id to provider. */
  elicitations?: Map<string, string> | undefined;
  /** Backends where the session has something that ends with this process. */
  stateAt?: Set<string> | undefined;
  /** The same of what has ended: each is told once that it is lost. */
  lostAt?: Set<string> | undefined;
  stream: SessionStream | undefined;
  catalogue: Catalogue | undefined;
  /** Lists that changed while no stream was there to say so. */
  changed: Set<ListKind> | undefined;
  /** Calls under way: meanwhile it is not idle. */
  calls: number;
  /** It has ended: what still opens for it is closed again. */
  isOver: boolean;
}

/** A session of which nothing is known yet. Times in milliseconds of the monotonic clock. */
export function newSession(
  of: Pick<Session, 'id' | 'principal' | 'countedFor' | 'profile' | 'openedAt' | 'lastUsed'>,
): Session {
  return {
    ...of,
    logId: sessionLogId(of.id),
    legs: [],
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

/** Counts work for a client as a call, so that its session is not idle meanwhile. */
export async function underWay<T>(session: Session, work: () => Promise<T>): Promise<T> {
  session.calls++;
  try {
    return await work();
  } finally {
    session.calls--;
  }
}

export function legOf(session: Session, backend: string): Leg | undefined {
  for (const leg of session.legs) if (leg.backend === backend) return leg;
  return undefined;
}
