import type { JWTPayload } from 'jose';
import type { PolicyReads } from '#runtime/policy/policy-reads';
import { readPath } from '#runtime/read-path';
import { hashId } from '../ids.ts';
import { userProfile } from '../login/user-profile.ts';
import type { UserProfile } from '../storage/rows.ts';
import { UpstreamUnavailable } from '../upstream/provider.ts';
import { readIdentity } from '../upstream/read-identity.ts';
import type { AssertionIssuer } from './assertion-issuers.ts';
import { type CheckedAssertion, refused } from './check-assertion.ts';
import type { AssertionSettings } from './assertion-settings.ts';

/** Claims of the grant, which say nothing about the user. */
const OF_THE_GRANT = ['client_id', 'resource', 'scope', 'cnf', 'tenant', 'act', 'may_act', 'authorization_details'];
/** Claims of each access token, which do not come from the assertion. */
const OF_THE_TOKEN = ['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'client_id', 'scope', 'tsid'];

/** Returns the user of an assertion. The claims come from the assertion alone. @throws OAuthError `invalid_grant` */
export function readAssertedUser(
  { claims, issuer }: CheckedAssertion,
  { reads: readsOf, log }: Pick<AssertionSettings, 'reads' | 'log'>,
): UserProfile {
  const reads = readsOf();
  const user = readUser(aboutUser(claims, issuer, reads), issuer);
  const claim = findMissing(user, reads);
  if (claim === undefined) return user;
  log.warn('an assertion lacks a claim that policies read', { issuer: issuer.config.issuer, claim });
  // A `forbid` on a claim that is absent does not apply, so the user could do more than after a login.
  throw refused('It lacks a claim that policies read');
}

function aboutUser(claims: JWTPayload, { config }: AssertionIssuer, { groupsClaim = 'groups' }: PolicyReads) {
  const left = config.groups_claim === undefined ? OF_THE_GRANT : [...OF_THE_GRANT, groupsClaim];
  const about: Record<string, unknown> = Object.fromEntries(
    Object.entries(claims).filter(([name]) => !left.includes(name)),
  );
  const groups = config.groups_claim === undefined ? undefined : readPath(claims, config.groups_claim);
  return groups === undefined ? about : { ...about, [groupsClaim]: groups };
}

function readUser(about: Readonly<Record<string, unknown>>, { config, isPrimary }: AssertionIssuer): UserProfile {
  const { issuer, subject_claim: claim, email_claim: email } = config;
  try {
    const fields = { subject: [claim], name: ['name'], email: [email] };
    const identity = readIdentity('the assertion', about, { issuer, fields, keepClaims: true });
    const user = userProfile(identity);
    // A list of other length than that of a login: the two never have the same hash.
    return isPrimary ? user : { ...user, sub: hashId(JSON.stringify(['assertion', issuer, claim, identity.subject])) };
  } catch (error) {
    if (!(error instanceof UpstreamUnavailable)) throw error;
    throw refused('It names no user, or has too many claims', error);
  }
}

function findMissing({ name, email, email_verified, claims }: UserProfile, reads: PolicyReads): string | undefined {
  const has: Readonly<Record<string, unknown>> = { ...claims, name, email, email_verified };
  const isMissing = (claim: string) => !OF_THE_TOKEN.includes(claim) && has[claim] === undefined;
  const missing = reads.claims.find(isMissing);
  if (missing !== undefined || !reads.groups) return missing;
  const { groupsClaim } = reads;
  const sources = groupsClaim === undefined ? [claims.groups, claims.roles] : [readPath(claims, groupsClaim)];
  return sources.every((source) => source === undefined) ? (groupsClaim ?? 'groups') : undefined;
}
