import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey, type ProtectedHeaderParameters } from 'jose';
import { ALGORITHMS } from './algorithms.ts';
import type { InvalidToken } from './challenges.ts';
import type { KeySet } from './key-set.ts';
import type { Refreshed } from './refreshed.ts';

/** Errors of a refused token, and of keys that cannot be read. */
interface Refusals {
  invalid(reason: InvalidToken, cause?: unknown): Error;
  unavailable(cause: unknown): Error;
}

interface JwtRules {
  readonly issuer: string;
  /** Undefined: not checked. */
  readonly audience: string | undefined;
  /** Accepted `typ` values, in lower case without `application/`. An empty string stands for an absent `typ`. */
  readonly types: readonly string[];
  readonly challenges: Refusals;
  readonly now: () => number;
  readonly keysMayCome?: (() => boolean) | undefined;
}

interface VerifiedJwt {
  readonly claims: JWTPayload & { exp: number };
  /** The keys that verified the token. A cached token is valid only while these keys are current. */
  readonly keys: KeySet;
}

/** Clock skew for `nbf`. `exp` has no leeway: no token is accepted past its expiry. */
export const LEEWAY_SECONDS = 30;
const MAX_KEYS_TRIED = 10;
/** Claims that occur only in ID tokens (OpenID Connect Core 1.0 §2, §3.1.3.6). */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash'];

/** Returns the accepted `typ` values (RFC 9068 §2.1). Most issuers write `JWT` or omit `typ`. */
export function acceptedTypes(settings: { embedded: boolean; required_typ?: string | undefined }): readonly string[] {
  if (settings.embedded) return ['at+jwt'];
  if (settings.required_typ !== undefined) return [normaliseType(settings.required_typ)];
  return ['at+jwt', 'jwt', ''];
}

/** Ignores `jku`, `x5u`, `x5c` and `jwk`: keys come only from the key source. @throws the refusals of `rules` */
export async function verifyJwt(
  token: string,
  header: ProtectedHeaderParameters,
  rules: JwtRules,
  source: Refreshed<KeySet>,
): Promise<VerifiedJwt> {
  const { challenges } = rules;
  if (!rules.types.includes(normaliseType(header.typ))) throw challenges.invalid('kind');
  // This check precedes the key lookup, so that an unacceptable token causes no read of the key set.
  if (!ALGORITHMS.includes(header.alg ?? '')) throw challenges.invalid('unverified');
  const { claims, keys } = await verifyWithRenewal(token, header, rules, source);
  if (typeof claims.exp !== 'number' || !Number.isFinite(claims.exp)) throw challenges.invalid('unverified');
  if (claims.exp * 1000 <= rules.now()) throw challenges.invalid('expired');
  if (ID_TOKEN_CLAIMS.some((name) => claims[name] !== undefined)) throw challenges.invalid('kind');
  return { claims: { ...claims, exp: claims.exp }, keys };
}

/** Verifies a token. An unknown key causes one read of the source; during the following cooldown, unknown keys are refused at once. */
async function verifyWithRenewal(
  token: string,
  header: ProtectedHeaderParameters,
  rules: JwtRules,
  source: Refreshed<KeySet>,
): Promise<{ claims: JWTPayload; keys: KeySet }> {
  const { challenges } = rules;
  const keys = await orUnavailable(() => source.get(), challenges);
  try {
    return { claims: await verifyWith(token, keys, rules), keys };
  } catch (error) {
    if (!mayBeNewKey(error, header)) throw challenges.invalid(reasonOf(error), error);
    const renewed = await orUnavailable(() => source.reload(), challenges);
    if (!renewed && source.failing) throw challenges.unavailable(error);
    if (!renewed || renewed === keys)
      throw mayCome(header, rules) ? challenges.unavailable(error) : challenges.invalid('unverified', error);
    return {
      claims: await verifyWith(token, renewed, rules).catch((again: unknown) => {
        throw challenges.invalid(reasonOf(again), again);
      }),
      keys: renewed,
    };
  }
}

async function orUnavailable<T>(read: () => T | Promise<T>, challenges: Refusals): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw challenges.unavailable(error);
  }
}

async function verifyWith(token: string, keys: KeySet, rules: JwtRules): Promise<JWTPayload> {
  const options = {
    algorithms: [...ALGORITHMS],
    issuer: rules.issuer,
    currentDate: new Date(rules.now()),
    clockTolerance: LEEWAY_SECONDS,
    ...(rules.audience !== undefined && { audience: rules.audience }),
  };
  const verify = async (find: JWTVerifyGetKey) => (await jwtVerify(token, find, options)).payload;
  try {
    return await verify(keys.find);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    return verifyWithEach(error, verify);
  }
}

/** Without a `kid`, several keys may fit. */
async function verifyWithEach(
  fitting: errors.JWKSMultipleMatchingKeys,
  verify: (find: JWTVerifyGetKey) => Promise<JWTPayload>,
): Promise<JWTPayload> {
  let tried = 0;
  for await (const key of fitting) {
    if ((tried += 1) > MAX_KEYS_TRIED) break;
    try {
      return await verify(() => Promise.resolve(key));
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    }
  }
  throw new errors.JWSSignatureVerificationFailed();
}

/** Tokens of the embedded server always name their key. */
function mayCome({ kid }: ProtectedHeaderParameters, { keysMayCome }: JwtRules): boolean {
  return typeof kid === 'string' && keysMayCome?.() === true;
}

function mayBeNewKey(error: unknown, header: ProtectedHeaderParameters): boolean {
  if (error instanceof errors.JWKSNoMatchingKey) return true;
  return error instanceof errors.JWSSignatureVerificationFailed && header.kid === undefined;
}

function reasonOf(error: unknown): InvalidToken {
  if (error instanceof errors.JWTExpired) return 'expired';
  if (!(error instanceof errors.JWTClaimValidationFailed)) return 'unverified';
  if (error.claim === 'aud') return 'audience';
  if (error.claim === 'iss') return 'issuer';
  return error.claim === 'nbf' ? 'notYetValid' : 'unverified';
}

function normaliseType(type: unknown): string {
  if (type === undefined) return '';
  return typeof type === 'string' ? type.toLowerCase().replace(/^application\//, '') : '?';
}
