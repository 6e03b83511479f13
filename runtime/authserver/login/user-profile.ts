import { hashId, newId } from '../ids.ts';
import type { UpstreamAccount, UserProfile } from '../storage/rows.ts';
import type { UpstreamIdentity } from '../upstream/provider.ts';

/** Who the user is here: the same as long as the primary provider names the same issuer and subject, whatever it is called. */
export function userProfile(identity: UpstreamIdentity): UserProfile {
  const sub = hashId(JSON.stringify([identity.issuer, identity.subject]));
  return { ...accountOf(identity), sub, claims: identity.claims };
}

/** Returns a new user for each login, for a primary provider that does not identify users. */
export function unnamedUser(provider: string): UserProfile {
  const account = { issuer: provider, subject: newId(), name: undefined, email: undefined, email_verified: undefined };
  return userProfile({ ...account, claims: {} });
}

/** The account without its claims. */
export function accountOf({ issuer, subject, name, email, email_verified }: UpstreamIdentity): UpstreamAccount {
  return { issuer, subject, name, email, email_verified };
}
