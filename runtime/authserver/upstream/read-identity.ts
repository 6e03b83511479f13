import { ClaimsTooLarge, keepClaims } from '#runtime/incoming/normalise-claims';
import { readPath } from '#runtime/read-path';
import { type UpstreamIdentity, UpstreamUnavailable } from './provider.ts';

/** Claims of the protocol, and claims that the profile holds in fields of its own. */
const LEFT_OUT = new Set([
  ...['iss', 'aud', 'exp', 'iat', 'nbf', 'jti', 'nonce', 'azp', 'sid', 'at_hash', 'c_hash', 's_hash', 'rt_hash'],
  ...['sub', 'name', 'email'],
]);
const MAX_SUBJECT = 1_024;
const MAX_TEXT = 512;
/** Bytes as JSON. Larger claims are an error, because a policy's `forbid` would miss dropped ones. */
const MAX_CLAIMS = 8_192;
const MAX_DEPTH = 4;

export interface IdentityFields {
  readonly subject: readonly string[];
  readonly name: readonly string[];
  readonly email: readonly string[];
}

interface IdentityRules {
  readonly issuer: string;
  readonly fields: IdentityFields;
  /** Only the claims of the primary provider are kept. */
  readonly keepClaims: boolean;
}

/** @throws UpstreamUnavailable when no field holds a subject, the subject is an unverified address, or the claims are too large */
export function readIdentity(
  name: string,
  about: Readonly<Record<string, unknown>>,
  { issuer, fields, keepClaims }: IdentityRules,
): UpstreamIdentity {
  const subject = firstOf(about, fields.subject, MAX_SUBJECT);
  // An unpaired surrogate is invalid, and many of them become equal in UTF-8.
  if (subject?.isWellFormed() !== true) {
    throw new UpstreamUnavailable(`${name}: it tells no ${fields.subject.join(' or ')}`, { answered: true });
  }
  const verified = readVerified(about.email_verified);
  const email = firstOf(about, fields.email, MAX_TEXT);
  // With unverified addresses, a person could claim the address of any user.
  if (verified === false && subject === email) {
    throw new UpstreamUnavailable(`${name}: its subject is an address that it calls unverified`, { answered: true });
  }
  return {
    issuer,
    subject,
    name: firstOf(about, fields.name, MAX_TEXT)?.toWellFormed(),
    // An address that the provider calls unverified may belong to another person.
    email: verified === false ? undefined : email?.toWellFormed(),
    email_verified: verified,
    claims: keepClaims ? claimsOf(name, about) : {},
  };
}

function claimsOf(name: string, about: Readonly<Record<string, unknown>>): UpstreamIdentity['claims'] {
  try {
    const kept = Object.entries(about).filter(([claim]) => !LEFT_OUT.has(claim));
    const claims = keepClaims(Object.fromEntries([...kept.flatMap(([claim, value]) => below(claim, value)), ...kept]));
    if (Buffer.byteLength(JSON.stringify(claims)) <= MAX_CLAIMS) return claims;
  } catch (error) {
    if (!(error instanceof ClaimsTooLarge)) throw error;
  }
  throw new UpstreamUnavailable(`${name}: it tells more than ${MAX_CLAIMS} bytes of claims; let it send fewer`, {
    answered: true,
  });
}

/** Flattens objects to dotted paths, e.g. `realm_access.roles`. A policy's `forbid` would miss dropped members, which often hold groups. */
function below(path: string, value: unknown, depth = 1): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || depth > MAX_DEPTH) return [];
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    const inner = `${path}.${name}`;
    return [[inner, member] as [string, unknown], ...below(inner, member, depth + 1)];
  });
}

function firstOf(about: Readonly<Record<string, unknown>>, fields: readonly string[], longest: number) {
  for (const field of fields) {
    const text = asText(readPath(about, field));
    if (text !== undefined && text.length <= longest) return text;
  }
  return undefined;
}

/** Converts integers to text. An inexact number could name two users. */
function asText(value: unknown): string | undefined {
  if (Number.isSafeInteger(value)) return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Reads `email_verified`, which some providers send as a string. */
export function readVerified(value: unknown): boolean | undefined {
  if (value === true || value === 'true') return true;
  return value === false || value === 'false' ? false : undefined;
}
