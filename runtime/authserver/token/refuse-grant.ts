import { OAuthError } from '../errors.ts';
import { newsMayCome } from '#runtime/keys/succession';
import { UnknownSecret } from '#runtime/keys/secret-ring';
import type { TokenSettings } from './token-settings.ts';

/**
 * The refusal of a code or refresh token that is not there. A client that is not there either learns that first: it is what makes
 * clients register again (RFC 6749 §5.2).
 */
export async function refuseGrant(
  clientId: string,
  text: string,
  { clients }: Pick<TokenSettings, 'clients'>,
): Promise<OAuthError> {
  if (!(await clients.isKnown(clientId)))
    return new OAuthError('invalid_client', 'There is no such client; register again');
  return new OAuthError('invalid_grant', text);
}

/**
 * What a code or refresh token says. One that was forged is refused here, before any look into the storage.
 * @throws OAuthError
 */
export async function readGrant<T>(
  read: () => T | undefined,
  clientId: string,
  settings: Pick<TokenSettings, 'clients' | 'secrets' | 'storage' | 'now'>,
): Promise<T> {
  let grant: T | undefined;
  try {
    grant = read();
  } catch (error) {
    if (!(error instanceof UnknownSecret)) throw error;
    throw await refuseUnknownSecret(clientId, settings, error);
  }
  if (grant === undefined) throw notIssuedHere();
  return grant;
}

export function notIssuedHere(): OAuthError {
  return new OAuthError('invalid_grant', 'It was not issued here');
}

/** Another replica may have taken a new secret over already. One that exists in this process only is lost for good. */
function refuseUnknownSecret(
  clientId: string,
  settings: Pick<TokenSettings, 'clients' | 'secrets' | 'storage' | 'now'>,
  cause: UnknownSecret,
): Promise<OAuthError> | OAuthError {
  const { secrets, storage, now } = settings;
  if (newsMayCome(secrets, storage, now()))
    return new OAuthError('temporarily_unavailable', 'The secret of it is not known here yet; try again soon', {
      cause,
    });
  return refuseGrant(clientId, 'It was issued under a secret that is not in use any more', settings);
}
