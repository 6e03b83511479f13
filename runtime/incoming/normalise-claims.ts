import { readPath } from '#runtime/read-path';
import type { ClaimValue, StoredClaim } from './identity.ts';

const MAX_CLAIMS = 256;
const MAX_NAME = 256;
const MAX_STRING = 8_192;
const MAX_SET = 1_000;

type Scalar = string | number | boolean;

/** The token exceeds a claim limit. Cutting it could hide a claim from a policy's `forbid`. */
export class ClaimsTooLarge extends Error {
  override readonly name = 'ClaimsTooLarge';
}

/** Omits what policies cannot read (null, fraction, object, nested list): a `forbid` on it fails and denies. @throws ClaimsTooLarge */
export function normaliseClaims(claims: Readonly<Record<string, unknown>>): Record<string, ClaimValue> {
  return eachClaim(claims, normaliseSet);
}

/** `normaliseClaims` and `readGroups` read the result as the token. Null replaces non-scalar list items. @throws ClaimsTooLarge */
export function keepClaims(claims: Readonly<Record<string, unknown>>): Record<string, StoredClaim> {
  return eachClaim<StoredClaim>(claims, (values) => {
    const kept = scalarsOf(values).map((value) => value ?? null);
    return kept.length > 0 && kept.every((value) => value === null) ? undefined : kept;
  });
}

function eachClaim<Value extends StoredClaim>(
  claims: Readonly<Record<string, unknown>>,
  readList: (values: readonly unknown[]) => Value | undefined,
): Record<string, Value | Scalar> {
  const entries = Object.entries(claims);
  if (entries.length > MAX_CLAIMS) throw new ClaimsTooLarge();
  // fromEntries defines `__proto__` as an ordinary claim.
  return Object.fromEntries(
    entries.flatMap(([name, value]) => {
      if (name.length > MAX_NAME) throw new ClaimsTooLarge();
      const read = Array.isArray(value) ? readList(value) : normaliseScalar(value);
      return read === undefined ? [] : [[name, read] as const];
    }),
  );
}

/** Reads the claim `name`, else that dotted path. Without a name, reads `groups` and `roles` together. @throws ClaimsTooLarge */
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
