import type { AuditEvent } from '#runtime/audit/audit';
import type { Log } from '#runtime/telemetry/log';
import { auditSubjects } from '../audit-subjects.ts';
import { OAuthError } from '../errors.ts';
import type { LinkRow, ActiveSession } from '../storage/rows.ts';
import type { AuthStorage } from '../storage/storage.ts';
import { answerWithin } from '../upstream/answer-within.ts';
import {
  UpstreamRefused,
  UpstreamUnavailable,
  type UpstreamIdentity,
  type UpstreamProvider,
  type UpstreamTokens,
} from '../upstream/provider.ts';
import { LoginNeeded } from '../user-tokens.ts';
import type { TokenSettings } from './token-settings.ts';

export interface RevalidateSettings extends Pick<TokenSettings, 'storage' | 'known' | 'ended' | 'now'> {
  /** Milliseconds after which the primary provider is asked again. */
  readonly revalidateAfter: number;
  readonly primary: string;
  readonly providers: () => ReadonlyMap<string, UpstreamProvider>;
  /** Returns the user's link and tokens at a provider. @throws LoginNeeded, StorageUnavailable, RequestError 503 */
  readonly readLink: (
    sub: string,
    provider: string,
  ) => Promise<{ readonly row: LinkRow; readonly tokens: UpstreamTokens }>;
  /** Returns tokens that the provider issued after `since`. @throws LoginNeeded, UpstreamUnavailable, StorageUnavailable */
  readonly renewed: (sub: string, provider: string, since: number) => Promise<UpstreamTokens>;
  readonly record: (event: AuditEvent) => void;
  readonly log: Log;
  /** Maximum milliseconds that a client waits for the provider. Absent: 5 s. */
  readonly deadline?: number;
}

const DEADLINE = 5_000;

/** Milliseconds since the primary provider's last answer during which failures are tolerated. */
const LONGEST_SILENCE = 24 * 3_600_000;

/** Checks a user periodically at the primary provider, by a token refresh or user-info, and stores the new facts about the user. */
export function createRevalidate(settings: RevalidateSettings): TokenSettings['revalidate'] {
  const { revalidateAfter, now, storage, known } = settings;
  const isDue = ({ asked_at }: ActiveSession) => now() - asked_at > revalidateAfter;
  return async (key, remembered) => {
    if (!isDue(remembered)) return;
    known.delete(key);
    // Another replica may have asked since then and stored other claims.
    const session = await storage.getSession(key);
    if (session === undefined || !isDue(session)) return;
    // Without the link, the rotation is rejected, and the session does not end.
    if ((await storage.getLink(session.sub, settings.primary))?.state !== 'linked') return;
    let renewed: Renewed | undefined;
    try {
      // A later answer is stored as well and used at the next refresh.
      renewed = await answerWithin(ask(session, settings), settings.deadline ?? DEADLINE);
    } catch (error) {
      if (isRefusal(error)) throw await endRefused(key, session, error, settings);
      if (!(error instanceof UpstreamUnavailable)) throw error;
      bearSilence(session, error, settings);
      await storage.amendSession(key, { asked_at: now() });
      return;
    }
    const user = renewed && { user: { ...session.user, ...renewed } };
    await storage.amendSession(key, { ...user, asked_at: now(), answered_at: now() });
  };
}

/** A retry cannot succeed. The user must log in. */
class CannotBeAsked extends UpstreamUnavailable {}

type Renewed = Pick<UpstreamIdentity, 'name' | 'email' | 'email_verified' | 'claims'>;

/** Asks the primary provider about the user. @returns the renewed facts, or undefined when the user is confirmed without new facts */
async function ask({ sub, user }: ActiveSession, settings: RevalidateSettings): Promise<Renewed | undefined> {
  const { primary, providers, readLink, renewed, now, revalidateAfter } = settings;
  const provider = providers().get(primary);
  if (!provider) throw new UpstreamUnavailable('the primary provider is not configured any more');
  const { row, tokens } = await readLink(sub, primary);
  if (tokens.refresh_token === undefined) {
    if (row.expires_at !== undefined && row.expires_at <= now())
      throw new CannotBeAsked('its tokens have ended and there is no refresh token');
    return check(await identifyLinked(provider, sub, settings), user);
  }
  const fresh = await renewed(sub, primary, now() - revalidateAfter);
  return check(await identifyRenewed(provider, fresh), user);
}

const MAX_ASKED = 3;

/** A rejection does not count after a new login. @throws UpstreamRefused, UpstreamUnavailable, LoginNeeded, StorageUnavailable */
async function identifyLinked(
  provider: UpstreamProvider,
  sub: string,
  { storage, primary, readLink }: RevalidateSettings,
): Promise<UpstreamIdentity | undefined> {
  for (let times = 1; ; times += 1) {
    const { row, tokens } = await readLink(sub, primary);
    try {
      return await provider.identify(tokens);
    } catch (error) {
      if (!(error instanceof UpstreamRefused)) throw error;
      const there = await storage.getLink(sub, primary);
      if (there?.state !== 'linked' || there.version === row.version || times === MAX_ASKED) throw error;
    }
  }
}

/** The successful refresh confirms the user, even if the new tokens do not open the user-info endpoint. */
async function identifyRenewed(
  provider: UpstreamProvider,
  fresh: UpstreamTokens,
): Promise<UpstreamIdentity | undefined> {
  try {
    return await provider.identify(fresh);
  } catch (error) {
    if (error instanceof UpstreamUnavailable || error instanceof UpstreamRefused) return undefined;
    throw error;
  }
}

function check(identity: UpstreamIdentity | undefined, user: ActiveSession['user']): Renewed | undefined {
  if (identity === undefined) return undefined;
  if (identity.issuer !== user.issuer || identity.subject !== user.subject)
    throw new UpstreamRefused('its tokens are now of another account');
  const { name, email, email_verified, claims } = identity;
  return { name, email, email_verified, claims };
}

function isRefusal(error: unknown): error is UpstreamRefused | LoginNeeded {
  return error instanceof UpstreamRefused || error instanceof LoginNeeded;
}

async function endRefused(
  key: string,
  { sub, user }: ActiveSession,
  cause: UpstreamRefused | LoginNeeded,
  { storage, primary, ended, record, log }: RevalidateSettings,
): Promise<OAuthError> {
  if (cause instanceof UpstreamRefused) await markLink(storage, sub, primary);
  await storage.endSession(key);
  ended(key, sub);
  log.info('a session has ended: the primary provider does not stand by its user any more', { reason: cause.message });
  record({
    type: 'auth_token_revoked',
    outcome: 'success',
    subjects: auditSubjects(user),
    target: { type: 'upstream_provider', name: primary },
    details: { reason: 'the primary provider does not stand by the user any more' },
  });
  return new OAuthError('invalid_grant', 'The user has to log in again', { cause });
}

/** Marks the link, which ends all browser logins of the user. */
async function markLink(storage: AuthStorage, sub: string, provider: string): Promise<void> {
  const row = await storage.getLink(sub, provider);
  if (row?.state === 'linked') await storage.replaceLink(sub, provider, row.version, { ...row, state: 'needs_login' });
}

function bearSilence(
  { answered_at }: ActiveSession,
  cause: UpstreamUnavailable,
  { now, log }: RevalidateSettings,
): void {
  log.warn('the primary provider does not say whether a user is still there', { reason: cause.message });
  if (now() - answered_at <= LONGEST_SILENCE) return;
  if (cause instanceof CannotBeAsked) throw new OAuthError('invalid_grant', 'The user has to log in again', { cause });
  throw new OAuthError(
    'temporarily_unavailable',
    'The identity provider has not answered for too long; try again later',
    {
      cause,
    },
  );
}
