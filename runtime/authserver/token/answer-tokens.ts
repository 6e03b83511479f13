import { OAuthError } from '../errors.ts';
import { jsonAnswer, type Answer } from '../handler.ts';
import { UnknownSecret } from '#runtime/keys/secret-ring';
import type { LiveSession } from '../storage/rows.ts';
import { issueJwt } from '../token-formats/issue-jwt.ts';
import { writeRefreshToken } from '../token-formats/refresh-token.ts';
import type { TokenSettings } from './token-settings.ts';

/** RFC 6749 §5.1 */
export interface Grant {
  readonly key: string;
  /** The secret part of the refresh token. */
  readonly secret: string;
  /** As it is stored now. */
  readonly session: Pick<LiveSession, 'gen' | 'kid'> & Omit<LiveSession, 'gen' | 'rotated_at'>;
  /** Scopes of the access token. */
  readonly scope: readonly string[];
}

/** Access and refresh token of a session. @throws OAuthError 503 */
export async function answerTokens({ key, secret, session, scope }: Grant, settings: TokenSettings): Promise<Answer> {
  const { keys, issuer, newJti, secrets, lifespans, now } = settings;
  // An access token never outlives its session, which ends when nobody refreshes it.
  const lifespan = Math.min(lifespans.access, lifespans.refresh);
  const { token, expiresIn } = await issueJwt({ ...session, scope }, key, now(), { keys, issuer, lifespan, newJti });
  return jsonAnswer(
    {
      access_token: token,
      token_type: 'Bearer',
      expires_in: expiresIn,
      refresh_token: refreshTokenOf(secret, session, secrets),
      scope: scope.join(' '),
    },
    200,
    { Pragma: 'no-cache' },
  );
}

/** Whoever rotated first chose the secret: all that come within the grace get the same token. */
function refreshTokenOf(secret: string, { gen, kid }: Grant['session'], secrets: TokenSettings['secrets']): string {
  try {
    return writeRefreshToken(secrets, kid, { secret, gen });
  } catch (cause) {
    if (!(cause instanceof UnknownSecret)) throw cause;
    throw new OAuthError('temporarily_unavailable', 'A secret is not known here yet; try again soon', { cause });
  }
}
