import type { SigningKeys } from '../keys/signing-keys.ts';
import type { SessionRow } from '../storage/rows.ts';

interface IssueDeps {
  readonly keys: Pick<SigningKeys, 'sign'>;
  readonly issuer: string;
  /** Maximum lifespan of a token in milliseconds, not longer than an unused session. */
  readonly lifespan: number;
  readonly newJti: () => string;
}

interface IssuedJwt {
  readonly token: string;
  /** Seconds. */
  readonly expiresIn: number;
}

/** Issues the access token of a session (RFC 9068). `tsid` is the key of the session. @param now milliseconds since the epoch */
export async function issueJwt(session: SessionRow, tsid: string, now: number, deps: IssueDeps): Promise<IssuedJwt> {
  const issuedAt = Math.floor(now / 1000);
  const expiresAt = Math.floor(Math.min(now + deps.lifespan, session.ends_at) / 1000);
  const { sub, client_id, scope, resource, user } = session;
  const claims = {
    iss: deps.issuer,
    sub,
    aud: resource,
    exp: expiresAt,
    iat: issuedAt,
    jti: deps.newJti(),
    client_id,
    scope: scope.join(' '),
    tsid,
    name: user.name,
    // An address that its provider calls unverified may belong to another person.
    email: user.email_verified === false ? undefined : user.email,
    email_verified: user.email_verified,
  };
  return { token: await deps.keys.sign(claims, 'at+jwt'), expiresIn: Math.max(0, expiresAt - issuedAt) };
}
