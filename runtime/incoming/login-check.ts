import type { SessionCheck } from '#runtime/authserver/auth-server';
import type { Challenges } from './challenges.ts';
import type { Identity, KeptClaim } from './identity.ts';
import { ClaimsTooLarge, normaliseClaims, readGroups } from './normalise-claims.ts';

type Claims = Readonly<Record<string, KeptClaim>>;

/** An identity whose token names the login that it was issued for. */
type LoggedIn = Identity & { readonly tsid: string };

/** Looks at each request whether the login behind its token is there still, and adds what that login knows of the caller. */
export interface LoginCheck {
  /**
   * The caller with the claims of the login; at once where that is remembered, and the same object as long as nothing changes.
   * @throws RequestError 401 where the login has ended, 503 where nobody can tell
   */
  admit(identity: Identity): Identity | Promise<Identity>;
  /** Whether the login is there still, or was a second ago. It rejects where nobody can tell. */
  isAlive(identity: Identity): Promise<boolean>;
}

/** Whoever looks from time to time alone sees an end in that time and this one. Many that look together cost one look. */
const LATELY = 1_000;

/** `groupsClaim` names the claim that holds the groups. */
export function createLoginCheck(
  sessions: SessionCheck,
  challenges: Challenges,
  groupsClaim: string | undefined,
): LoginCheck {
  const admitted = new WeakMap<Identity, { readonly claims: Claims; readonly identity: Identity }>();

  const admitWith = (identity: Identity, claims: Claims | undefined): Identity => {
    if (claims === undefined) throw challenges.invalid('ended');
    const known = admitted.get(identity);
    if (known?.claims === claims) return known.identity;
    const merged = withClaims(identity, claims, groupsClaim, challenges);
    admitted.set(identity, { claims, identity: merged });
    return merged;
  };

  return {
    admit(identity) {
      if (!isLoggedIn(identity)) throw challenges.invalid('unverified');
      const claims = sessions.claimsOf(identity);
      if (!(claims instanceof Promise)) return admitWith(identity, claims);
      return claims.then((found) => admitWith(identity, found));
    },
    isAlive: async (identity) => isLoggedIn(identity) && (await sessions.claimsOf(identity, LATELY)) !== undefined,
  };
}

function isLoggedIn(identity: Identity): identity is LoggedIn {
  return identity.tsid !== undefined;
}

/** What the token itself says counts more than what the login remembers. */
function withClaims(
  identity: Identity,
  claims: Claims,
  groupsClaim: string | undefined,
  challenges: Challenges,
): Identity {
  const all = { ...claims, ...identity.claims };
  try {
    return { ...identity, claims: normaliseClaims(all), groups: readGroups(all, groupsClaim) };
  } catch (error) {
    if (error instanceof ClaimsTooLarge) throw challenges.invalid('claims', error);
    throw error;
  }
}
