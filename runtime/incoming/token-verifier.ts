import { decodeProtectedHeader, type ProtectedHeaderParameters } from 'jose';
import type { OidcIncoming } from '#crds/run-config/incoming';
import { ConfigError } from '#runtime/errors';
import type { AuthenticatorOptions } from './authenticator-options.ts';
import { buildIdentity } from './build-identity.ts';
import type { Challenges } from './challenges.ts';
import { discoverIssuer, type IssuerMetadata } from './discover-issuer.ts';
import type { Identity } from './identity.ts';
import { createIntrospection, type Introspected } from './introspect-token.ts';
import { createJsonClient, IdpUnavailable, type JsonClient } from './json-client.ts';
import type { KeySet } from './key-set.ts';
import { createKeySource } from './key-source.ts';
import { ClaimsTooLarge } from './normalise-claims.ts';
import { isToken } from './read-bearer.ts';
import { createRefreshed, type Refreshed } from './refreshed.ts';
import type { RememberedToken } from './token-memory.ts';
import { acceptedTypes, verifyJwt } from './verify-jwt.ts';

export interface TokenVerifier {
  /** Rejects with a RequestError: 401, 403 or 503. */
  verify(token: string): Promise<RememberedToken>;
  readonly keys: Refreshed<KeySet>;
  close(): void;
}

const DEADLINE = 5_000;
/** Milliseconds for which a token may outlive its revocation at the issuer, regardless of the configuration. */
const MAX_INTROSPECTION_CACHE = 30_000;
/** Milliseconds. Bridges an outage of the issuer's metadata, as for its keys. */
const METADATA_STALE_FOR = 3_600_000;

/** Verifies JWTs, and introspects opaque tokens if a client secret is configured. `audience` undefined: not checked. @throws ConfigError */
export function createTokenVerifier(
  incoming: OidcIncoming,
  options: AuthenticatorOptions,
  boundary: { audience: string | undefined; challenges: Challenges },
): TokenVerifier {
  const { challenges } = boundary;
  const outside = openClients(incoming, options);
  const metadata = createMetadata(incoming, options, outside.keys);
  const keys = createKeySource({
    incoming,
    client: outside.keys,
    metadata,
    readFile: options.readFile,
    embeddedKeys: options.embeddedKeys,
    jwksMaxAge: options.limits.jwksMaxAge,
    jwksCooldown: options.limits.jwksCooldown,
    now: options.now,
    log: options.log,
  });
  const rules = { issuer: incoming.issuer, ...boundary, now: options.now };
  const jwtRules = { ...rules, types: acceptedTypes(incoming), keysMayCome: options.embeddedKeysMayCome };
  const introspect = chooseIntrospection(incoming, options, { ...rules, metadata, client: outside.introspection });
  const admit = createAdmission(incoming, options, challenges);
  return {
    async verify(token) {
      if (!isToken(token)) throw challenges.invalid('malformed');
      const header = jwtHeader(token);
      if (header) {
        const { claims, keys: verifiedWith } = await verifyJwt(token, header, jwtRules, keys);
        const identity = admit(token, claims, claims.exp * 1000);
        return { identity, until: identity.expiresAt, keys: verifiedWith };
      }
      if (!introspect) throw challenges.invalid('unverified');
      const claims = await introspect(token);
      const until = options.now() + Math.min(options.limits.introspectionCache, MAX_INTROSPECTION_CACHE);
      const identity = admit(token, claims, claims.exp === undefined ? until : claims.exp * 1000);
      return { identity, until: Math.min(until, identity.expiresAt), keys: undefined };
    },
    keys,
    close() {
      outside.keys.close();
      outside.introspection.close();
    },
  };
}

/** Introspection sends the client's secret to a server of the administrator, so it has its own permission. */
function openClients(
  incoming: OidcIncoming,
  options: AuthenticatorOptions,
): Record<'keys' | 'introspection', JsonClient> {
  const caBundle = incoming.ca_bundle_file;
  const rules = {
    allowHttp: incoming.insecure_allow_http,
    readCaBundle: caBundle === undefined ? undefined : () => options.readFile(caBundle),
    deadline: options.deadline ?? DEADLINE,
    dispatcherFor: options.dispatcherFor,
  };
  const forKeys = incoming.jwks_allow_private_ip;
  const forIntrospection = forKeys || incoming.protected_resource_allow_private_ip;
  return {
    keys: createJsonClient({ ...rules, allowPrivateAddress: forKeys }),
    introspection: createJsonClient({ ...rules, allowPrivateAddress: forIntrospection }),
  };
}

function createMetadata(
  { issuer }: OidcIncoming,
  { limits, now, log }: AuthenticatorOptions,
  client: JsonClient,
): Refreshed<IssuerMetadata> {
  return createRefreshed({
    load: () => discoverIssuer(issuer, client),
    maxAge: limits.jwksMaxAge,
    cooldown: limits.jwksCooldown,
    staleFor: METADATA_STALE_FOR,
    now,
    onFailure: (error) =>
      log.warn('the metadata of the issuer cannot be read', { reason: error instanceof Error ? error.message : '' }),
  });
}

function chooseIntrospection(
  incoming: OidcIncoming,
  { readFile, now }: AuthenticatorOptions,
  rules: {
    issuer: string;
    audience: string | undefined;
    challenges: Challenges;
    metadata: Refreshed<IssuerMetadata>;
    client: JsonClient;
  },
): ((token: string) => Promise<Introspected>) | undefined {
  const { client_id, client_secret_file, introspection_url } = incoming;
  if (client_secret_file === undefined) return undefined;
  if (client_id === undefined) throw new ConfigError('incoming.client_secret_file needs incoming.client_id beside it');
  const discover = async () => {
    const { introspection_endpoint } = await rules.metadata.get();
    if (introspection_endpoint !== undefined) return introspection_endpoint;
    throw new IdpUnavailable('the metadata of the issuer names no introspection_endpoint; set introspectionUrl');
  };
  return createIntrospection({
    ...rules,
    clientId: client_id,
    readClientSecret: () => readFile(client_secret_file),
    endpoint: introspection_url === undefined ? discover : () => Promise.resolve(introspection_url),
    now,
  });
}

type Admission = (token: string, claims: Readonly<Record<string, unknown>>, expiresAt: number) => Identity;

function createAdmission(incoming: OidcIncoming, options: AuthenticatorOptions, challenges: Challenges): Admission {
  const { issuer, scopes, required_subject } = incoming;
  const groupsClaim = incoming.groups_claim ?? options.groupsClaim;
  return (token, claims, expiresAt) => {
    const subject = claims.sub;
    if (typeof subject !== 'string' || subject === '') throw challenges.invalid('unverified');
    if (required_subject !== undefined && subject !== required_subject) throw challenges.invalid('subject');
    const built = build(claims, { issuer, subject, token, expiresAt, groupsClaim }, challenges);
    const identity = incoming.embedded ? { ...built, tsid: readTsid(claims, challenges) } : built;
    if (!scopes.every((scope) => identity.scopes.includes(scope))) throw challenges.insufficientScope(identity.scopes);
    return identity;
  };
}

/** Returns the login of a token. Only the embedded authorization server names its logins so. */
function readTsid({ tsid }: Readonly<Record<string, unknown>>, challenges: Challenges): string {
  if (typeof tsid === 'string' && tsid !== '') return tsid;
  throw challenges.invalid('unverified');
}

function build(
  claims: Readonly<Record<string, unknown>>,
  about: Parameters<typeof buildIdentity>[1],
  challenges: Challenges,
): Identity {
  try {
    return buildIdentity(claims, about);
  } catch (error) {
    if (error instanceof ClaimsTooLarge) throw challenges.invalid('claims', error);
    throw error;
  }
}

function jwtHeader(token: string): ProtectedHeaderParameters | undefined {
  if (token.split('.', 4).length !== 3) return undefined;
  try {
    const header = decodeProtectedHeader(token);
    return typeof header.alg === 'string' ? header : undefined;
  } catch {
    return undefined;
  }
}
