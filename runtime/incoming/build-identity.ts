import { z } from 'zod';
import type { Identity } from './identity.ts';
import { normaliseClaims, readGroups } from './normalise-claims.ts';

/** Returns the key of a principal in caches and sessions. JSON keeps issuer and subject distinct for all values. */
export function identityKey(issuer: string, subject: string): string {
  return JSON.stringify([issuer, subject]);
}

export function subjectOf(key: string): string {
  const [, subject] = z.tuple([z.string(), z.string()]).parse(JSON.parse(key));
  return subject;
}

export const ANONYMOUS: Identity = {
  issuer: '',
  subject: 'anonymous',
  clientId: undefined,
  scopes: [],
  groups: [],
  claims: {},
  key: identityKey('', 'anonymous'),
  token: undefined,
  expiresAt: Infinity,
};

/** Returns the caller of verified claims. @param about.expiresAt milliseconds since the epoch @throws ClaimsTooLarge */
export function buildIdentity(
  claims: Readonly<Record<string, unknown>>,
  about: { issuer: string; subject: string; token: string; expiresAt: number; groupsClaim: string | undefined },
): Identity {
  const { issuer, subject, token, expiresAt, groupsClaim } = about;
  return {
    issuer,
    subject,
    clientId: [claims.client_id, claims.azp].find((id) => typeof id === 'string'),
    scopes: readScopes(claims),
    groups: readGroups(claims, groupsClaim),
    claims: normaliseClaims(claims),
    key: identityKey(issuer, subject),
    token,
    expiresAt,
  };
}

/** RFC 8693 §4.2: `scope` is one string. Some issuers write a list, or name it `scp`. */
function readScopes(claims: Readonly<Record<string, unknown>>): string[] {
  const scopes = [claims.scope, claims.scp].flat().filter((scope) => typeof scope === 'string');
  return [...new Set(scopes.flatMap((scope) => scope.split(' ')).filter((scope) => scope !== ''))];
}
