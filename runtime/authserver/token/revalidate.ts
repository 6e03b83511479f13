import type { AuditEvent } from '#runtime/audit/audit';
import type { Log } from '#runtime/telemetry/log';
import { auditSubjects } from '../audit-subjects.ts';
import { OAuthError } from '../errors.ts';
import type { LinkRow, LiveSession } from '../storage/rows.ts';
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
  /** The provider that says who the user is. */
  readonly primary: string;
  readonly providers: () => ReadonlyMap<string, UpstreamProvider>;
  /** The user's tokens there. @throws LoginNeeded, StorageUnavailable, RequestError 503 */
  readonly readLink: (
    sub: string,
    provider: string,
  ) => Promise<{ readonly row: LinkRow; readonly tokens: UpstreamTokens }>;
  /** Tokens that the provider gave after `since`. @throws LoginNeeded, UpstreamUnavailable, StorageUnavailable */
  readonly renewed: (sub: string, provider: string, since: number) => Promise<UpstreamTokens>;
  readonly record: (event: AuditEvent) => void;
  readonly log: Log;
  /** Milliseconds that a client waits for the provider's answer at most; absent: 5 s. */
  readonly deadline?: number;
}

const DEADLINE = 5_000;

/** Milliseconds after the primary provider's last answer in which its silence is borne. */
const LONGEST_SILENCE = 24 * 3_600_000;

/**
 * Whether the user is still there, asked of the primary provider where the last time is long ago: its refresh, or its user-info. What
 * it says of the user now takes the place of what it said before.
 */
export function createRevalidate(settings: RevalidateSettings): TokenSettings['revalidate'] {
  const { revalidateAfter, now, storage, known } = settings;
  const isDue = ({ asked_at }: LiveSession) => now() - asked_at > revalidateAfter;
  return async (key, remembered) => {
    if (!isDue(remembered)) return;
    known.delete(key);
    // Another replica may have asked since then, and heard other claims.
    const session = await storage.getSession(key);
    if (session === undefined || !isDue(session)) return;
    // Without its link the rotation is refused, and nothing is ended.
    if ((await storage.getLink(session.sub, settings.primary))?.state !== 'linked') return;
    let renewed: Renewed | undefined;
    try {
      // What comes later is stored all the same, and found at the next refresh.
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

/** Nor will it be possible later: only a login helps. */
class CannotBeAsked extends UpstreamUnavailable {}

type Renewed = Pick<UpstreamIdentity, 'name' | 'email' | 'email_verified' | 'claims'>;

/** @returns what is to be renewed; undefined: it still stands by the user, and says nothing more */
async function ask({ sub, user }: LiveSession, settings: RevalidateSettings): Promise<Renewed | undefined> {
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

/**
 * Who holds the tokens of the link. That these are refused says nothing of those that the user got meanwhile, by logging in anew.
 * @throws UpstreamRefused, UpstreamUnavailable, LoginNeeded, StorageUnavailable
 */
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

/** It renewed the tokens: that was its answer, whether or not they open its user-info as well. */
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

function check(identity: UpstreamIdentity | undefined, user: LiveSession['user']): Renewed | undefined {
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
  { sub, user }: LiveSession,
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

/** No browser login holds without it. */
async function markLink(storage: AuthStorage, sub: string, provider: string): Promise<void> {
  const row = await storage.getLink(sub, provider);
  if (row?.state === 'linked') await storage.replaceLink(sub, provider, row.version, { ...row, state: 'needs_login' });
}

function bearSilence({ answered_at }: LiveSession, cause: UpstreamUnavailable, { now, log }: RevalidateSettings): void {
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
