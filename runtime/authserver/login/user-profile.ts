import { hashId, newId } from '../ids.ts';
import type { UpstreamAccount, UserProfile } from '../storage/rows.ts';
import type { UpstreamIdentity } from '../upstream/provider.ts';

/** Returns the profile of a user. `sub` depends on the issuer and subject of the primary provider, not on the provider's name. */
export function userProfile(identity: UpstreamIdentity): UserProfile {
  const sub = hashId(JSON.stringify([identity.issuer, identity.subject]));
  return { ...accountOf(identity), sub, claims: identity.claims };
}

/** Returns a new user for each login, for a primary provider that does not identify users. */
export function unnamedUser(provider: string): UserProfile {
  const account = { issuer: provider, subject: newId(), name: undefined, email: undefined, email_verified: undefined };
  return userProfile({ ...account, claims: {} });
}

export function accountOf({ issuer, subject, name, email, email_verified }: UpstreamIdentity): UpstreamAccount {
  return { issuer, subject, name, email, email_verified };
}
