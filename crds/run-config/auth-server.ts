import { z } from 'zod';
import { text } from '../parts/primitives.ts';
import { AuthServerConfig } from '../parts/auth-server-config.ts';
import { IdentityAssertionIssuer as AssertionIssuerConfig, MOST_ISSUERS } from '../parts/identity-assertions.ts';
import { DEFAULTS } from '../parts/defaults.ts';
import { described, inMilliseconds, meaning, objectLike } from '../parts/meaning.ts';
import { MAX_REDIRECT_URIS, MAX_URI_LENGTH } from '../parts/redirect-uri.ts';
import { CaBundleRef } from '../parts/references.ts';
import { RegisteredClient as ClientConfig } from '../parts/registered-client.ts';
import { OAuth2, Oidc, UpstreamProvider, UserInfo as UserInfoConfig } from '../parts/upstream-provider.ts';
import { Storage } from './storage.ts';

const File = text(4096);
const Url = z.url().max(2048);
const Scopes = z.array(text(256)).max(64);
const Names = z.array(text(256)).max(16);

export const LONGEST_REASON = 4096;

const wanted = UserInfoConfig.shape;
const UserInfo = objectLike(UserInfoConfig, {
  endpoint_url: Url,
  http_method: wanted.httpMethod,
  additional_headers: z.record(z.string().max(256), z.string().max(4096)).default({}),
  field_mapping: objectLike(wanted.fieldMapping, {
    subject_fields: Names.optional(),
    name_fields: Names.optional(),
    email_fields: Names.optional(),
  }).optional(),
});

const provider = UpstreamProvider.shape;
const upstream = described(UpstreamProvider, {
  name: provider.name,
  required: provider.required,
  additional_authorization_params: z.record(z.string().max(256), z.string().max(2048)).default({}),
  ca_bundle_file: meaning(CaBundleRef, File.optional()),
  out_of_service: text(LONGEST_REASON)
    .optional()
    .describe(
      'Why it is out of service: a secret or certificate authorities that it needs cannot be used, and stand here in no file. Logins that need it fail.',
    ),
});
const client = described(Oidc, {
  client_id: Oidc.shape.clientId,
  client_secret_file: File.optional().describe('File with the client secret; absent: a public client.'),
  redirect_uri: Url.optional(),
  scopes: Scopes.default([]),
});

/** One upstream identity provider. A login visits them in list order. */
export const Upstream = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('oidc').describe('Protocol of the provider.'),
    ...upstream,
    oidc_config: objectLike(Oidc, {
      ...client,
      issuer_url: Url,
      subject_claim: Oidc.shape.subjectClaim,
      userinfo_override: UserInfo.optional(),
    }).describe('An OpenID Connect provider, with type oidc.'),
  }),
  z.strictObject({
    type: z.literal('oauth2'),
    ...upstream,
    oauth2_config: objectLike(OAuth2, {
      ...client,
      authorization_endpoint: Url,
      token_endpoint: Url,
      userinfo: UserInfo.optional(),
      token_response_mapping: objectLike(OAuth2.shape.tokenResponseMapping, {
        access_token_path: z.string().max(512).optional(),
        scope_path: z.string().max(512).optional(),
        refresh_token_path: z.string().max(512).optional(),
        expires_in_path: z.string().max(512).optional(),
      }).optional(),
      identity_from_token: objectLike(OAuth2.shape.identityFromToken, {
        subject_path: z.string().max(512),
        name_path: z.string().max(512).optional(),
        email_path: z.string().max(512).optional(),
      }).optional(),
    }).describe('An OAuth 2.0 provider without discovery, with type oauth2.'),
  }),
]);
export type Upstream = z.infer<typeof Upstream>;

const registered = ClientConfig.shape;

/** A client that the administrator registered. Without a secret file and keys it is public. */
export const RegisteredClient = objectLike(ClientConfig, {
  client_id: registered.clientId,
  display_name: registered.displayName,
  verified: registered.verified,
  client_secret_file: File.optional().describe('File with the client secret.'),
  jwks: registered.jwks,
  jwks_url: Url.optional(),
  ca_bundle_file: meaning(CaBundleRef, File.optional()),
  redirect_uris: z.array(text(MAX_URI_LENGTH)).max(MAX_REDIRECT_URIS).default([]),
  grants: registered.grants,
  scopes: Scopes.optional(),
  consent: registered.consent,
});
export type RegisteredClient = z.infer<typeof RegisteredClient>;

const asserted = AssertionIssuerConfig.shape;
const assertionClient = asserted.clients.element.shape;

/** An identity provider whose assertions clients redeem. */
export const IdentityAssertionIssuer = objectLike(AssertionIssuerConfig, {
  issuer: Url,
  jwks_url: Url,
  ca_bundle_file: meaning(CaBundleRef, File.optional()),
  clients: z
    .array(
      z.strictObject({
        client_id: assertionClient.clientId,
        client_secret_file: File.optional().describe('File with the client secret.'),
        jwks_url: meaning(assertionClient.jwksUrl, Url.optional()),
      }),
    )
    .min(1)
    .max(64)
    .describe(asserted.clients.description ?? ''),
  subject_claim: asserted.subjectClaim,
  email_claim: asserted.emailClaim,
  groups_claim: asserted.groupsClaim,
  tenant: asserted.tenant,
  scopes: Scopes.optional(),
  max_lifetime: inMilliseconds(asserted.maxLifetime),
});
export type IdentityAssertionIssuer = z.infer<typeof IdentityAssertionIssuer>;

const config = AuthServerConfig.shape;
const lifespans = config.tokenLifespans.unwrap().shape;
const bounds = config.limits.unwrap().shape;

export const AuthServer = objectLike(AuthServerConfig, {
  schema_version: z.literal('v0.1.0').default('v0.1.0').describe('Version of this block.'),
  issuer: Url,
  authorization_endpoint_base_url: Url.optional(),
  insecure_allow_http: config.insecureAllowHTTP,
  allowed_audiences: z
    .array(z.string().max(2048))
    .max(16)
    .default([])
    .describe('Resources that tokens are issued for; the URL of the endpoint.'),
  scopes_supported: Scopes.default([...DEFAULTS.scopesSupported]),
  signing_key_config: z
    .strictObject({
      signing_key_file: File.describe('File with the private key that signs.'),
      fallback_key_files: z.array(File).max(16).default([]).describe('Files with keys that still verify.'),
    })
    .optional()
    .describe('Keys of the JWTs. Absent: a key that is lost at a restart.'),
  hmac_secret_files: z
    .array(File)
    .max(16)
    .default([])
    .describe('Files with secrets of codes and refresh tokens: the first makes, all check. None: lost at a restart.'),
  token_lifespans: z
    .strictObject({
      access_token_lifespan: inMilliseconds(lifespans.accessTokenLifespan),
      refresh_token_lifespan: inMilliseconds(lifespans.refreshTokenLifespan),
      auth_code_lifespan: inMilliseconds(lifespans.authCodeLifespan),
    })
    .prefault({}),
  primary_upstream_provider: z.string().max(63).optional(),
  upstreams: z
    .array(Upstream)
    .min(1)
    .max(32)
    .describe(config.upstreamProviders.description ?? ''),
  storage: Storage.default({ type: 'memory' }).describe('Where logins and upstream tokens are kept.'),
  cimd: config.cimd,
  registration: objectLike(config.registration, {
    enabled: z.boolean().default(true),
    allowed_redirect_hosts: z.array(z.string().max(260)).max(64).optional(),
  }).prefault({}),
  clients: z
    .array(RegisteredClient)
    .max(64)
    .default([])
    .describe(config.clients.description ?? ''),
  identity_assertions: z
    .array(IdentityAssertionIssuer)
    .max(MOST_ISSUERS)
    .default([])
    .describe(config.identityAssertions.description ?? ''),
  blocked_users: z
    .array(text(255))
    .max(1_000)
    .default([])
    .describe(config.blockedUsers.description ?? ''),
  introspection_clients: z
    .array(
      objectLike(config.introspectionClients, {
        client_id: z.string().max(512),
        client_secret_file: File.describe('File with the client secret.'),
      }),
    )
    .max(16)
    .default([]),
  revalidate_after: inMilliseconds(config.revalidateAfter),
  limits: objectLike(config.limits, {
    registrations_per_minute: z.int().min(1).default(DEFAULTS.registrationsPerMinute),
    clients: z.int().min(1).default(DEFAULTS.registeredClients),
    pending_logins: z.int().min(1).default(DEFAULTS.pendingLogins),
    pending_login_lifespan: inMilliseconds(bounds.pendingLoginLifespan),
  }).prefault({}),
});
export type AuthServer = z.infer<typeof AuthServer>;

type Providers = Pick<z.input<typeof AuthServer>, 'upstreams' | 'primary_upstream_provider'>;

/** Returns the primary provider: the named one, else the first required one. */
export function primaryOf({ upstreams, primary_upstream_provider: named }: Providers) {
  return upstreams.find(({ name, required }) => (named === undefined ? required !== false : name === named));
}

/** Returns whether the primary provider identifies users; true without a server. OAuth 2.0 alone does not identify them (RFC 6749). */
export function namesUsers(server: Providers | undefined): boolean {
  const primary = server && primaryOf(server);
  if (primary?.type !== 'oauth2') return true;
  const { userinfo, identity_from_token: paths } = primary.oauth2_config;
  return userinfo !== undefined || paths !== undefined;
}
