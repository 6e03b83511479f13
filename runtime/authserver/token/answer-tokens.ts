import { OAuthError } from '../errors.ts';
import { jsonAnswer, type Answer } from '../handler.ts';
import { UnknownSecret } from '#runtime/keys/secret-ring';
import type { ActiveSession, SessionRow } from '../storage/rows.ts';
import { issueJwt } from '../token-formats/issue-jwt.ts';
import { joinRefreshToken, makeRefreshToken, type TokenParts } from '../token-formats/refresh-token.ts';
import type { TokenSettings } from './token-settings.ts';

/** Successful grant (RFC 6749 §5.1). */
export interface Grant {
  readonly key: string;
  /** Undefined: the grant has none. */
  readonly refreshToken: TokenParts | undefined;
  readonly session: SessionRow;
  readonly scope: readonly string[];
}

/** Returns the access token of a session, and its refresh token if it has one. @throws OAuthError 503 */
export async function answerTokens(
  { key, refreshToken, session, scope }: Grant,
  settings: TokenSettings,
): Promise<Answer> {
  const { keys, issuer, newJti, lifespans, now } = settings;
  // An access token never outlives its session, which ends without a refresh.
  const lifespan = Math.min(lifespans.access, lifespans.refresh);
  const { token, expiresIn } = await issueJwt({ ...session, scope }, key, now(), { keys, issuer, lifespan, newJti });
  return jsonAnswer(
    {
      access_token: token,
      token_type: 'Bearer',
      expires_in: expiresIn,
      ...(refreshToken && { refresh_token: joinRefreshToken(refreshToken) }),
      scope: scope.join(' '),
    },
    200,
    { Pragma: 'no-cache' },
  );
}

/** The first rotation chooses the secret `kid`, so all requests within the grace period get the same token. @throws OAuthError 503 */
export function nextRefreshToken(
  secret: string,
  { gen, kid }: Pick<ActiveSession, 'gen' | 'kid'>,
  { secrets }: Pick<TokenSettings, 'secrets'>,
): TokenParts {
  try {
    return makeRefreshToken(secrets, kid, { secret, gen });
  } catch (cause) {
    if (!(cause instanceof UnknownSecret)) throw cause;
    throw new OAuthError('temporarily_unavailable', 'A secret is not known here yet; try again soon', { cause });
  }
}
