import type { BackendAuth } from '#crds/run-config/outgoing';
import type { Identity } from '#runtime/incoming/identity';

export type AwsSts = Extract<BackendAuth, { type: 'aws_sts' }>;
type Claims = Identity['claims'];
type Mapping = AwsSts['role_mappings'][number];
type Matches = (claims: Claims) => boolean;

const DEFAULT_ROLE_CLAIM = 'groups';
const ROLE = /^arn:aws[a-z-]{0,16}:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/;

/** The matching mapping with the lowest priority wins, or the first of equal ones; then the role of `role_claim`, then the fallback. */
export function createRoleSelection(auth: AwsSts): (claims: Claims) => string | undefined {
  const mappings = auth.role_mappings
    .map((mapping) => ({ ...mapping, matches: matcherOf(mapping, auth) }))
    .sort((a, b) => (a.priority ?? Infinity) - (b.priority ?? Infinity) || 0);
  return (claims) => {
    const mapped = mappings.find(({ matches }) => matches(claims));
    if (mapped) return mapped.role_arn;
    const named = auth.role_claim === undefined ? [] : valuesOf(claims, auth.role_claim);
    return named.find((value) => ROLE.test(value)) ?? auth.fallback_role_arn;
  };
}

/**
 * `claim` and `matcher`: a value of that claim matches, with `*` for any text. `claim` alone: it equals a value of `role_claim`.
 * `matcher` alone: a value of `role_claim` matches. Neither: every caller matches.
 */
function matcherOf({ claim, matcher }: Mapping, { role_claim: roleClaim }: AwsSts): Matches {
  const named = roleClaim ?? DEFAULT_ROLE_CLAIM;
  if (matcher === undefined)
    return claim === undefined ? () => true : (claims) => valuesOf(claims, named).includes(claim);
  const pattern = patternOf(matcher);
  return (claims) => valuesOf(claims, claim ?? named).some((value) => pattern.test(value));
}

function valuesOf(claims: Claims, name: string): string[] {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  return value === undefined ? [] : [value].flat().map(String);
}

function patternOf(matcher: string): RegExp {
  const parts = matcher.split(/\*+/).map((part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^]*')}$`);
}
