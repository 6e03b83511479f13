import { OAuthError } from '../errors.ts';
import { newKeysMayArrive } from '#runtime/keys/key-rotation';
import { UnknownSecret } from '#runtime/keys/secret-ring';
import type { TokenSettings } from './token-settings.ts';

/** Answers an unknown client with `invalid_client`, which makes it register again (RFC 6749 §5.2). */
export async function refuseGrant(
  clientId: string,
  text: string,
  { clients }: Pick<TokenSettings, 'clients'>,
): Promise<OAuthError> {
  if (!(await clients.isKnown(clientId)))
    return new OAuthError('invalid_client', 'There is no such client; register again');
  return new OAuthError('invalid_grant', text);
}

/** Reads a code or refresh token. A forged one is rejected before any read of the storage. @throws OAuthError */
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

/** Refuses a user whom the administrator blocked. @throws OAuthError `invalid_grant` */
export function checkBlocked(sub: string, { isBlocked }: Pick<TokenSettings, 'isBlocked'>): void {
  if (isBlocked(sub)) throw new OAuthError('invalid_grant', 'The administrator has blocked this user');
}

export function notIssuedHere(): OAuthError {
  return new OAuthError('invalid_grant', 'It was not issued here');
}

/** Another replica may already use a new secret. A secret that exists only in its process is lost for good. */
function refuseUnknownSecret(
  clientId: string,
  settings: Pick<TokenSettings, 'clients' | 'secrets' | 'storage' | 'now'>,
  cause: UnknownSecret,
): Promise<OAuthError> | OAuthError {
  const { secrets, storage, now } = settings;
  if (newKeysMayArrive(secrets, storage, now()))
    return new OAuthError('temporarily_unavailable', 'The secret of it is not known here yet; try again soon', {
      cause,
    });
  return refuseGrant(clientId, 'It was issued under a secret that is not in use any more', settings);
}
