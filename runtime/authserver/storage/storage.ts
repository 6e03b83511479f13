import type {
  AnswerRow,
  AssertionRow,
  BrowserRow,
  ClientRow,
  CodeRow,
  LinkRow,
  ActiveSession,
  LoginRow,
  RevocationRow,
  SessionRow,
  SlotRow,
  TicketRow,
} from './rows.ts';

/** Rows that are only written, read, taken and removed. */
export interface PlainRows {
  client: ClientRow;
  login: LoginRow;
  browser: BrowserRow;
  ticket: TicketRow;
  answer: AnswerRow;
  assertion: AssertionRow;
  slot: SlotRow;
  revocation: RevocationRow;
}

/** Kinds whose rows are never removed for others. */
export const KEPT_KINDS: readonly (keyof PlainRows)[] = ['client', 'revocation'];

export { StorageUnavailable } from '#runtime/storage/storage-unavailable';

export type Redeemed =
  | { readonly outcome: 'redeemed' }
  /** The code does not exist or has expired. */
  | { readonly outcome: 'unknown' }
  /** The code was redeemed before, for this session. */
  | { readonly outcome: 'replayed'; readonly session: string };

export type Rotated =
  /** `gen` of the successor, the same for all requests within the grace period. */
  | { readonly outcome: 'rotated'; readonly session: ActiveSession }
  /** The session does not exist or belongs to another client. */
  | { readonly outcome: 'unknown' }
  /** A required provider is not linked or needs a login. Nothing was changed. */
  | { readonly outcome: 'login_needed' }
  /** An old generation came back after its grace period. The session has ended. */
  | { readonly outcome: 'replayed'; readonly sub: string };

export interface Rotation {
  readonly clientId: string;
  /** Generation of the presented token. */
  readonly gen: number;
  /** `kid` of the secret that makes the successor. */
  readonly kid: string;
  /** Milliseconds in which the former generation gets the same successor. */
  readonly grace: number;
  /** Lifespan of the session from now in milliseconds, limited by its `ends_at`. */
  readonly lifespan: number;
  /** Providers that the user must have linked. Absent: none. */
  readonly required?: readonly string[];
  /** Session as read before. A remote storage may reuse it unless the session was amended since. */
  readonly known?: ActiveSession | undefined;
}

export type AssertionUse = 'used' | 'replayed' | 'full';

export interface SlotSession {
  /** Hash of what the grants that share the session have in common. */
  readonly slot: string;
  /** Key of the session if the slot holds none. */
  readonly key: string;
  readonly row: SessionRow;
  readonly lifespan: number;
  /** Assertion that is redeemed for the session, at most once. */
  readonly assertion?: RedeemedAssertion;
}

export interface RedeemedAssertion {
  /** Hash of its issuer and `jti`. */
  readonly id: string;
  readonly lifespan: number;
  /** Its `iat`, in milliseconds since the epoch. */
  readonly issuedAt: number;
  /** Ids of the revocations that apply to it. */
  readonly revocations: readonly string[];
  /** Minimum lifespan of the user's links. */
  readonly linksLifespan: number;
}

export type Held =
  /** `key` of the session. */
  | { readonly outcome: 'held'; readonly key: string }
  /** Nothing was changed. `revoked`: a revocation is not older than the assertion. `full`: no more assertions can be remembered. */
  | { readonly outcome: 'revoked' | 'replayed' | 'full' };

/** Result of asking the primary provider. `user` is set when the provider returned new facts. */
export type Amendment = Partial<Pick<SessionRow, 'user' | 'asked_at' | 'answered_at'>>;

/** End of a login: stores the links of the user and the code in one step. */
export interface FinishedLogin {
  readonly sub: string;
  /** Links by provider. `version` is ignored. */
  readonly links: Readonly<Record<string, LinkRow>>;
  /** Links that the login depends on: `linked_at` by provider. Absent: none. */
  readonly expects?: Readonly<Record<string, number>>;
  /** Undefined when no client waits for a code. */
  readonly code: { readonly id: string; readonly row: CodeRow; readonly lifespan: number } | undefined;
  /** Minimum lifespan of the links in milliseconds. Sessions extend it. */
  readonly lifespan: number;
}

/**
 * `conflict`: the user has linked another account at that provider. `changed`: a link that the login depends on is
 * gone, because the user signed out everywhere or unlinked it. In both cases nothing is stored.
 */
export type Finished =
  | { readonly outcome: 'stored' }
  | { readonly outcome: 'changed' }
  | { readonly outcome: 'conflict'; readonly provider: string };

/** Number of rows by kind. */
export type Sizes = Readonly<Record<'clients' | 'logins' | 'sessions' | 'links', number>>;

/**
 * Storage of logins, sessions and upstream tokens: in memory, in one SQLite file, or in Redis. Ids are hashes of the clients' secrets,
 * and tokens in rows are sealed by the caller. Each operation is atomic. Times are milliseconds. Every operation rejects with
 * StorageUnavailable when the storage does not answer in time.
 */
export interface AuthStorage {
  readonly kind: 'memory' | 'sqlite' | 'redis';

  /**
   * Writes a row for `lifespan`. At `capacity`, the oldest row is removed for the new one. Clients and revocations are never
   * removed: the result is then false, and nothing is written.
   */
  put<Kind extends keyof PlainRows>(
    kind: Kind,
    id: string,
    row: PlainRows[Kind],
    options: { readonly lifespan: number; readonly capacity?: number },
  ): Promise<boolean>;
  get<Kind extends keyof PlainRows>(kind: Kind, id: string): Promise<PlainRows[Kind] | undefined>;
  /** Reads and removes a row. Only one of several concurrent calls gets it. */
  take<Kind extends keyof PlainRows>(kind: Kind, id: string): Promise<PlainRows[Kind] | undefined>;
  remove(kind: keyof PlainRows, id: string): Promise<void>;
  /** Extends the lifespan of an existing row. */
  touch(kind: keyof PlainRows, id: string, lifespan: number): Promise<void>;

  /**
   * Ends a login (RFC 6749 §4.1), all or nothing. It conflicts when another account (`account.subject`) is linked at a
   * provider. The links in `expects` must still exist.
   */
  finishLogin(login: FinishedLogin): Promise<Finished>;
  getCode(id: string): Promise<CodeRow | undefined>;
  /** Returns whether the code exists and is not redeemed. */
  isCodeUnused(id: string): Promise<boolean>;
  /**
   * Redeems a code and creates its session, at most once. A used code stays known until its lifespan ends. The write is
   * durable on return (WAIT, if there are replicas).
   */
  redeemCode(id: string, session: { key: string; row: SessionRow; lifespan: number }): Promise<Redeemed>;

  /**
   * Marks an assertion as used for `lifespan`, at most once. It evicts no other one: `full` when the storage can take no more. Durable
   * on return.
   */
  useAssertion(id: string, lifespan: number): Promise<AssertionUse>;
  /**
   * Creates the session of a slot, or replaces the row of the active one and extends it. An ended session leaves its slot, so that its
   * former tokens stay invalid. In the same step, it redeems the assertion as `useAssertion`, and extends the links of the user.
   */
  holdSession(session: SlotSession): Promise<Held>;

  getSession(key: string): Promise<ActiveSession | undefined>;
  /**
   * Rotates the refresh token of a session. The current `gen` gets a successor. The former one gets the same successor within the grace
   * period, by the storage's clock. An older one ends the session. A newer one is accepted, because a failover lost the write.
   */
  rotateSession(key: string, rotation: Rotation): Promise<Rotated>;
  /** Changes these fields of an existing session. */
  amendSession(key: string, changes: Amendment): Promise<void>;
  /** Ends a session. The user's last session takes the links with it. Durable on return. */
  endSession(key: string): Promise<void>;
  /** Ends all sessions of a user and removes the links. Durable on return. */
  endUser(sub: string): Promise<void>;
  /** Returns the keys of the user's active sessions. */
  sessionsOf(sub: string): Promise<readonly string[]>;

  /** Returns the links by provider. */
  linksOf(sub: string): Promise<Readonly<Record<string, LinkRow>>>;
  getLink(sub: string, provider: string): Promise<LinkRow | undefined>;
  /** Replaces a link that still has `version`, and increases the version. Returns false when another writer was faster. */
  replaceLink(sub: string, provider: string, version: number, row: LinkRow): Promise<boolean>;
  unlink(sub: string, provider: string): Promise<void>;

  /** Takes a lease that ends by itself. Returns undefined when it is taken. */
  lease(name: string, lifespan: number): Promise<Lease | undefined>;

  /** Increases the count of a window that begins with the first call. @returns the count in the current window */
  count(bucket: string, window: number): Promise<number>;
  sizes(): Promise<Sizes>;
  /** Returns the number of sessions and links by secret (`kid` of a session, prefix of `sealed` up to the first dot). */
  secretsInUse(): Promise<Readonly<Record<string, number>>>;
  /** Number of operations since the start whose replication was not acknowledged in time. */
  readonly unacknowledged: number;
  close(): Promise<void>;
}

export interface Lease {
  release(): Promise<void>;
}
