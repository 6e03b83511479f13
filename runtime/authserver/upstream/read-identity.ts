import { ClaimsTooLarge, keepClaims } from '#runtime/incoming/normalise-claims';
import { readPath } from '#runtime/read-path';
import { type UpstreamIdentity, UpstreamUnavailable } from './provider.ts';

/** What speaks of the protocol and not of the user, and what stands in the profile itself. */
const LEFT_OUT = new Set([
  ...['iss', 'aud', 'exp', 'iat', 'nbf', 'jti', 'nonce', 'azp', 'sid', 'at_hash', 'c_hash', 's_hash', 'rt_hash'],
  ...['sub', 'name', 'email'],
]);
const MAX_SUBJECT = 1_024;
const MAX_TEXT = 512;
/** Bytes as JSON. Leaving some out would let a policy's `forbid` miss them. */
const MAX_CLAIMS = 8_192;
const MAX_DEPTH = 4;

/** Fields that are tried in order; names of members, or dotted paths to them. */
export interface IdentityFields {
  readonly subject: readonly string[];
  readonly name: readonly string[];
  readonly email: readonly string[];
}

interface IdentityRules {
  readonly issuer: string;
  readonly fields: IdentityFields;
  /** Claims are kept of who decides about the user, and of nobody else. */
  readonly keepClaims: boolean;
}

/**
 * The account that an answer or an ID token of the provider `name` speaks of.
 * @throws UpstreamUnavailable: no field holds a subject, it is an unverified address, or there are more claims than are kept
 */
export function readIdentity(
  name: string,
  about: Readonly<Record<string, unknown>>,
  { issuer, fields, keepClaims }: IdentityRules,
): UpstreamIdentity {
  const subject = firstOf(about, fields.subject, MAX_SUBJECT);
  // Half a character stands for none, and for many once it is written as UTF-8.
  if (subject?.isWellFormed() !== true) {
    throw new UpstreamUnavailable(`${name}: it tells no ${fields.subject.join(' or ')}`, { answered: true });
  }
  const verified = readVerified(about.email_verified);
  const email = firstOf(about, fields.email, MAX_TEXT);
  // Whoever may write any address there could be any user here.
  if (verified === false && subject === email) {
    throw new UpstreamUnavailable(`${name}: its subject is an address that it calls unverified`, { answered: true });
  }
  return {
    issuer,
    subject,
    name: firstOf(about, fields.name, MAX_TEXT)?.toWellFormed(),
    // An address that the provider itself calls unverified may be somebody else's.
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

/**
 * What stands in an object, by its dotted path: objects are not kept, and groups are often found in them (`realm_access.roles`).
 * A policy's `forbid` would miss what is left out.
 */
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

/** Numbers as they are written; one that is not exact could be two users'. */
function asText(value: unknown): string | undefined {
  if (Number.isSafeInteger(value)) return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Some providers write it as a word. */
export function readVerified(value: unknown): boolean | undefined {
  if (value === true || value === 'true') return true;
  return value === false || value === 'false' ? false : undefined;
}
