import { readPath } from '#runtime/read-path';
import type { ClaimValue, KeptClaim } from './identity.ts';

const MAX_CLAIMS = 256;
const MAX_NAME = 256;
const MAX_STRING = 8_192;
const MAX_SET = 1_000;

type Scalar = string | number | boolean;

/** A token with more than is accepted. Cutting it would let a policy's `forbid` miss what was cut off. */
export class ClaimsTooLarge extends Error {
  override readonly name = 'ClaimsTooLarge';
}

/**
 * The claims that policies can read: String, Long (safe integers), Bool and Sets of these. A claim that is not wholly one of
 * these (null, a fraction, an object, a nested list) is left out as a whole, so that a `forbid` that reads it errs and denies.
 * @throws ClaimsTooLarge
 */
export function normaliseClaims(claims: Readonly<Record<string, unknown>>): Record<string, ClaimValue> {
  return eachClaim(claims, normaliseSet);
}

/**
 * Claims to be kept until somebody asks what they say: `normaliseClaims` and `readGroups` find in them what they would have found in
 * the token. What a list holds besides scalars stands in it as null.
 * @throws ClaimsTooLarge
 */
export function keepClaims(claims: Readonly<Record<string, unknown>>): Record<string, KeptClaim> {
  return eachClaim<KeptClaim>(claims, (values) => {
    const kept = scalarsOf(values).map((value) => value ?? null);
    return kept.length > 0 && kept.every((value) => value === null) ? undefined : kept;
  });
}

function eachClaim<Value extends KeptClaim>(
  claims: Readonly<Record<string, unknown>>,
  readList: (values: readonly unknown[]) => Value | undefined,
): Record<string, Value | Scalar> {
  const entries = Object.entries(claims);
  if (entries.length > MAX_CLAIMS) throw new ClaimsTooLarge();
  // fromEntries defines `__proto__` as a claim like any other.
  return Object.fromEntries(
    entries.flatMap(([name, value]) => {
      if (name.length > MAX_NAME) throw new ClaimsTooLarge();
      const read = Array.isArray(value) ? readList(value) : normaliseScalar(value);
      return read === undefined ? [] : [[name, read] as const];
    }),
  );
}

/**
 * The groups of a token: of the claim `name` (or, where a token has no such claim, at that dotted path, as in
 * `realm_access.roles`); without a name of `groups` and `roles` together.
 * @throws ClaimsTooLarge
 */
export function readGroups(claims: Readonly<Record<string, unknown>>, name: string | undefined): readonly string[] {
  const sources = name === undefined ? [claims.groups, claims.roles] : [readPath(claims, name)];
  const groups = sources.flat().filter((group) => typeof group === 'string');
  if (groups.length > MAX_SET || groups.some((group) => group.length > MAX_STRING)) throw new ClaimsTooLarge();
  return [...new Set(groups)];
}

function normaliseScalar(value: unknown): Scalar | undefined {
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return value as boolean | number;
  if (typeof value !== 'string') return undefined;
  if (value.length > MAX_STRING) throw new ClaimsTooLarge();
  return value;
}

function normaliseSet(values: readonly unknown[]): ClaimValue | undefined {
  const normalised = scalarsOf(values);
  return normalised.every((value) => value !== undefined) ? normalised : undefined;
}

function scalarsOf(values: readonly unknown[]): (Scalar | undefined)[] {
  if (values.length > MAX_SET) throw new ClaimsTooLarge();
  return values.map(normaliseScalar);
}
