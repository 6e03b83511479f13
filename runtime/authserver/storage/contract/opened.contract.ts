import type { AuthorizeRequest, CodeRow, LinkRow, LoginRow, SessionRow, UserProfile } from '../rows.ts';
import type { AuthStorage } from '../storage.ts';

/** New, empty storage as two processes see it, and its clock. */
export interface Opened {
  readonly one: AuthStorage;
  readonly two: AuthStorage;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Advances the clock. Some storages use the real clock, so keep it short. */
  readonly pass: (ms: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

const DAY = 86_400_000;
export const LONG = 600_000;
/** Lifespan in milliseconds of rows that must expire: long enough for a busy machine with the real clock. */
export const SHORT = 200;
export const OVER = 230;

const request: AuthorizeRequest = {
  client_id: 'client-1',
  redirect_uri: 'http://127.0.0.1/callback',
  state: 'ö"\\state',
  code_challenge: 'challenge',
  scope: ['mcp', 'offline_access'],
  resource: 'https://tools.example.com/mcp',
};

export function userOf(sub: string): UserProfile {
  return {
    sub,
    issuer: 'https://id.example.com',
    subject: `${sub} at its provider`,
    name: 'Ann "Ace" Ö',
    email: undefined,
    email_verified: undefined,
    // Values that Lua would change: an empty list, a large number, a fraction.
    claims: { groups: [], employee: 9_007_199_254_740_991, share: 0.1, roles: ['a', 'b'] },
  };
}

export const codeOf = (sub: string): CodeRow => ({ request, user: userOf(sub) });

export function sessionOf(sub: string, now: number, changes: Partial<SessionRow> = {}): SessionRow {
  return {
    client_id: 'client-1',
    sub,
    scope: [],
    resource: 'https://tools.example.com/mcp',
    user: userOf(sub),
    kid: 'k1',
    ends_at: now + 30 * DAY,
    asked_at: now,
    answered_at: now,
    ...changes,
  };
}

export function linkOf(subject: string | undefined, changes: Partial<LinkRow> = {}): LinkRow {
  const account = { issuer: 'https://git.example.com', name: undefined, email: 'a@b.example', email_verified: true };
  return {
    account: subject === undefined ? undefined : { ...account, subject },
    sealed: 'k1.iv.text',
    expires_at: undefined,
    linked_at: 1_700_000_000_000,
    state: 'linked',
    version: 1,
    ...changes,
  };
}

export function loginOf(id: string, now: number): LoginRow {
  return {
    id,
    purpose: 'authorize',
    request,
    browser: 'hash of a cookie',
    step: 'provider',
    remaining: [],
    login_step: { provider: 'git', secrets: 'k1.iv.text' },
    user: undefined,
    links: {},
    sub: undefined,
    ends_at: now + LONG,
  };
}

export const rotation = { clientId: 'client-1', gen: 0, kid: 'k1', grace: 30_000, lifespan: LONG };

/** Creates a session from a code. */
export async function logIn(
  { one, now }: Opened,
  key: string,
  { sub = 'ann', lifespan = LONG, row = {} }: { sub?: string; lifespan?: number; row?: Partial<SessionRow> } = {},
): Promise<void> {
  const code = { id: `code of ${key}`, row: codeOf(sub), lifespan: LONG };
  await one.finishLogin({ sub, links: {}, code, lifespan: SHORT });
  await one.redeemCode(`code of ${key}`, { key, row: sessionOf(sub, now(), row), lifespan });
}

/** Stores links without a code, as the connections page does. */
export function link(storage: AuthStorage, sub: string, links: Record<string, LinkRow>, lifespan = LONG) {
  return storage.finishLogin({ sub, links, code: undefined, lifespan });
}

/** Runs the same operation `times` times concurrently, half in each process. */
export function atOnce<Answer>(
  { one, two }: Opened,
  times: number,
  ask: (storage: AuthStorage) => Promise<Answer>,
): Promise<Answer[]> {
  return Promise.all(Array.from({ length: times }, (_, index) => ask(index % 2 === 0 ? one : two)));
}
