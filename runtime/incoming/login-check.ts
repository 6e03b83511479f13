import type { SessionCheck } from '#runtime/authserver/auth-server';
import type { Challenges } from './challenges.ts';
import type { Identity, StoredClaim } from './identity.ts';
import { ClaimsTooLarge, normaliseClaims, readGroups } from './normalise-claims.ts';

type Claims = Readonly<Record<string, StoredClaim>>;

type LoggedIn = Identity & { readonly tsid: string };

/** Checks at each request whether the login behind its token still exists, and adds the claims of that login. */
export interface LoginCheck {
  /** Answers a cached login synchronously with the same object. @throws RequestError 401 if it has ended, 503 if its state is unknown */
  admit(identity: Identity): Identity | Promise<Identity>;
  /** Returns whether the login exists, or existed a second ago. Rejects if the state is unknown. */
  isAlive(identity: Identity): Promise<boolean>;
}

/** Milliseconds for which streams share one read. A stream detects an end within its own interval plus this time. */
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
