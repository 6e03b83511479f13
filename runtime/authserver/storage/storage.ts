import type {
  AnswerRow,
  BrowserRow,
  ClientRow,
  CodeRow,
  LinkRow,
  LiveSession,
  LoginRow,
  SessionRow,
  TicketRow,
} from './rows.ts';

/** Rows that are only written, read, taken and forgotten. */
export interface PlainRows {
  client: ClientRow;
  login: LoginRow;
  browser: BrowserRow;
  ticket: TicketRow;
  answer: AnswerRow;
}

export { StorageUnavailable } from '#runtime/storage/storage-unavailable';

export type Redeemed =
  | { readonly outcome: 'redeemed' }
  /** There is no such code, or it is over. */
  | { readonly outcome: 'unknown' }
  /** It was redeemed before: this is the session that came of it. */
  | { readonly outcome: 'replayed'; readonly session: string };

export type Rotated =
  /** `gen` of the successor, which is the same for all that come within the grace. */
  | { readonly outcome: 'rotated'; readonly session: LiveSession }
  /** No such session, or another client's. */
  | { readonly outcome: 'unknown' }
  /** A provider that is required is not linked, or asks for a login: nothing was changed. */
  | { readonly outcome: 'login_needed' }
  /** An old generation came back after its grace: the session is gone now. */
  | { readonly outcome: 'replayed'; readonly sub: string };

export interface Rotation {
  readonly clientId: string;
  /** Generation in the token that came. */
  readonly gen: number;
  /** Which secret makes the successor. */
  readonly kid: string;
  /** Milliseconds in which the former generation gives the same successor. */
  readonly grace: number;
  /** Milliseconds that the session lives from now, at most until its `ends_at`. */
  readonly lifespan: number;
  /** Providers that the user has to have linked; absent: none. */
  readonly required?: readonly string[];
  /** The session as the storage gave it before: a store that has to fetch it need not, where nobody amended it since. */
  readonly known?: LiveSession | undefined;
}

/** The primary provider was asked about a user; `user` is what it answered, where it said anything new. */
export type Amendment = Partial<Pick<SessionRow, 'user' | 'asked_at' | 'answered_at'>>;

/** The end of a login's chain: its links become the user's, and there is a code, in one step. */
export interface FinishedLogin {
  readonly sub: string;
  /** By provider; `version` counts for nothing here. */
  readonly links: Readonly<Record<string, LinkRow>>;
  /** Links that it rests on: `linked_at` by provider. Absent: none. */
  readonly expects?: Readonly<Record<string, number>>;
  /** Undefined: a provider was linked, and no client waits. */
  readonly code: { readonly id: string; readonly row: CodeRow; readonly lifespan: number } | undefined;
  /** Milliseconds that the links live at least; sessions lengthen it. */
  readonly lifespan: number;
}

/**
 * `conflict`: the user has another account linked at that provider. `changed`: a link that the login rests on is not there any more,
 * as the user has signed out everywhere or unlinked it. In both cases nothing was stored.
 */
export type Finished =
  | { readonly outcome: 'stored' }
  | { readonly outcome: 'changed' }
  | { readonly outcome: 'conflict'; readonly provider: string };

/** How many rows there are, of which kinds. */
export type Sizes = Readonly<Record<'clients' | 'logins' | 'sessions' | 'links', number>>;

/**
 * Where logins, sessions and upstream tokens are kept: in memory, in one SQLite file, in Redis. Ids are hashes of what clients
 * hold; tokens in rows are sealed before they come here. Each operation is atomic. Times are milliseconds.
 * Every operation rejects with StorageUnavailable where the storage cannot answer in time.
 */
export interface AuthStorage {
  readonly kind: 'memory' | 'sqlite' | 'redis';

  /**
   * Writes a row for `lifespan`. Where there are `capacity` rows already, the oldest login is dropped for a new one, but no
   * client ever is: false, nothing written.
   */
  put<Kind extends keyof PlainRows>(
    kind: Kind,
    id: string,
    row: PlainRows[Kind],
    options: { readonly lifespan: number; readonly capacity?: number },
  ): Promise<boolean>;
  get<Kind extends keyof PlainRows>(kind: Kind, id: string): Promise<PlainRows[Kind] | undefined>;
  /** Reads and removes: of many that take at once, one gets it. */
  take<Kind extends keyof PlainRows>(kind: Kind, id: string): Promise<PlainRows[Kind] | undefined>;
  remove(kind: keyof PlainRows, id: string): Promise<void>;
  /** Lengthens the life of a row that is there. */
  touch(kind: keyof PlainRows, id: string, lifespan: number): Promise<void>;

  /** RFC 6749 §4.1: all or nothing. Another account than the linked one at a provider (`account.subject`) is a conflict. What the
   * login rests on must be there still.
   */
  finishLogin(login: FinishedLogin): Promise<Finished>;
  getCode(id: string): Promise<CodeRow | undefined>;
  /** Whether there is such a code and it was not redeemed yet. */
  isCodeUnused(id: string): Promise<boolean>;
  /**
   * Uses a code up and creates its session, at most once. It stays known as used until its lifespan is over.
   * Durable on return (WAIT, where there are replicas).
   */
  redeemCode(id: string, session: { key: string; row: SessionRow; lifespan: number }): Promise<Redeemed>;

  getSession(key: string): Promise<LiveSession | undefined>;
  /**
   * The next generation of a session's refresh token. `gen` is the present one: rotated. It is the one before, within the grace
   * since the rotation (by the storage's own clock): the same successor. Older: the session ends. It is ahead of what is stored, as the
   * write was lost in a failover: accepted, and counted on from there.
   */
  rotateSession(key: string, rotation: Rotation): Promise<Rotated>;
  /** Changes these fields of a session that is there. */
  amendSession(key: string, changes: Amendment): Promise<void>;
  /** Ends a session; with the user's last one go the user's links. Durable on return. */
  endSession(key: string): Promise<void>;
  /** Ends all sessions of a user, and the links. Durable on return. */
  endUser(sub: string): Promise<void>;
  /** Keys of the user's sessions that are alive. */
  sessionsOf(sub: string): Promise<readonly string[]>;

  /** By provider. */
  linksOf(sub: string): Promise<Readonly<Record<string, LinkRow>>>;
  getLink(sub: string, provider: string): Promise<LinkRow | undefined>;
  /** Replaces a link that still has `version`; the stored one then has the next. False: another writer came first. */
  replaceLink(sub: string, provider: string, version: number, row: LinkRow): Promise<boolean>;
  unlink(sub: string, provider: string): Promise<void>;

  /** Takes a lease that ends by itself. Undefined: somebody else has it. */
  lease(name: string, lifespan: number): Promise<Lease | undefined>;

  /** Counts one in a window that begins with the first. @returns how many there are in it now */
  count(bucket: string, window: number): Promise<number>;
  sizes(): Promise<Sizes>;
  /** How many sessions and links need which secret (`kid` of a session, prefix of `sealed` up to the first dot). */
  secretsInUse(): Promise<Readonly<Record<string, number>>>;
  /** Operations whose replication was not acknowledged in time, since the start. */
  readonly unacknowledged: number;
  close(): Promise<void>;
}

export interface Lease {
  release(): Promise<void>;
}
