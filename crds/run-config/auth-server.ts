import { z } from 'zod';
import { AuthServerConfig } from '../parts/auth-server-config.ts';
import { DEFAULTS } from '../parts/defaults.ts';
import { meaning } from '../parts/meaning.ts';
import { Milliseconds } from '../parts/primitives.ts';
import { OAuth2, Oidc, UpstreamProvider, UserInfo as UserInfoConfig } from '../parts/upstream-provider.ts';
import { Storage } from './storage.ts';

const File = z.string().min(1).max(4096);
const Url = z.url().max(2048);
const Scopes = z.array(z.string().min(1).max(256)).max(64);
const Names = z.array(z.string().min(1).max(256)).max(16);

/** Most characters of the reason why a provider is out of service. */
export const LONGEST_REASON = 4096;

const wanted = UserInfoConfig.shape;
const UserInfo = z.strictObject({
  endpoint_url: meaning(wanted.endpointUrl, Url),
  http_method: wanted.httpMethod,
  additional_headers: meaning(
    wanted.additionalHeaders,
    z.record(z.string().max(256), z.string().max(4096)).default({}),
  ),
  field_mapping: z
    .strictObject({
      subject_fields: Names.optional().describe('Fields tried for the subject, in order.'),
      name_fields: Names.optional().describe('Fields tried for the name, in order.'),
      email_fields: Names.optional().describe('Fields tried for the email address, in order.'),
    })
    .optional()
    .describe('Where the attributes of the user stand in the answer.'),
});

const provider = UpstreamProvider.shape;
const upstream = {
  name: provider.name,
  required: provider.required,
  additional_authorization_params: meaning(
    provider.additionalAuthorizationParams,
    z.record(z.string().max(256), z.string().max(2048)).default({}),
  ),
  ca_bundle_file: File.optional().describe('Certificate authorities that are trusted besides the usual ones.'),
  out_of_service: z
    .string()
    .min(1)
    .max(LONGEST_REASON)
    .optional()
    .describe(
      'Why it is out of service: a secret or certificate authorities that it needs cannot be used, and stand here in no file. Logins that need it fail.',
    ),
};
const client = {
  client_id: Oidc.shape.clientId,
  client_secret_file: File.optional().describe('File with the client secret; absent: a public client.'),
  redirect_uri: meaning(Oidc.shape.redirectUri, Url.optional()),
  scopes: meaning(Oidc.shape.scopes, Scopes.default([])),
};

/** One upstream identity provider. A login visits them in list order. */
export const Upstream = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('oidc').describe('What the provider speaks.'),
    ...upstream,
    oidc_config: z
      .strictObject({
        ...client,
        issuer_url: meaning(Oidc.shape.issuerUrl, Url),
        subject_claim: Oidc.shape.subjectClaim,
        userinfo_override: meaning(Oidc.shape.userInfoOverride, UserInfo.optional()),
      })
      .describe('An OpenID Connect provider, with type oidc.'),
  }),
  z.strictObject({
    type: z.literal('oauth2'),
    ...upstream,
    oauth2_config: z
      .strictObject({
        ...client,
        authorization_endpoint: meaning(OAuth2.shape.authorizationEndpoint, Url),
        token_endpoint: meaning(OAuth2.shape.tokenEndpoint, Url),
        userinfo: meaning(OAuth2.shape.userInfo, UserInfo.optional()),
        token_response_mapping: z
          .strictObject({
            access_token_path: z.string().max(512).optional().describe('Path of the access token.'),
            scope_path: z.string().max(512).optional().describe('Path of the scope.'),
            refresh_token_path: z.string().max(512).optional().describe('Path of the refresh token.'),
            expires_in_path: z.string().max(512).optional().describe('Path of the lifetime in seconds.'),
          })
          .optional()
          .describe(OAuth2.shape.tokenResponseMapping.description ?? ''),
        identity_from_token: z
          .strictObject({
            subject_path: z.string().max(512).describe('Path of the subject.'),
            name_path: z.string().max(512).optional().describe('Path of the name.'),
            email_path: z.string().max(512).optional().describe('Path of the email address.'),
          })
          .optional()
          .describe(OAuth2.shape.identityFromToken.description ?? ''),
      })
      .describe('An OAuth 2.0 provider without discovery, with type oauth2.'),
  }),
]);
export type Upstream = z.infer<typeof Upstream>;

const config = AuthServerConfig.shape;

/** The embedded authorization server in a run configuration. */
export const AuthServer = z.strictObject({
  schema_version: z.literal('v0.1.0').default('v0.1.0').describe('Version of this block.'),
  issuer: meaning(config.issuer, Url),
  authorization_endpoint_base_url: meaning(config.authorizationEndpointBaseUrl, Url.optional()),
  insecure_allow_http: config.insecureAllowHTTP,
  allowed_audiences: z
    .array(z.string().max(2048))
    .max(16)
    .default([])
    .describe('Resources that tokens are issued for; the URL of the endpoint.'),
  scopes_supported: meaning(config.scopesSupported, Scopes.default([...DEFAULTS.scopesSupported])),
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
      access_token_lifespan: Milliseconds.prefault(DEFAULTS.accessTokenLifespan).describe('Lifetime of access tokens.'),
      refresh_token_lifespan: Milliseconds.prefault(DEFAULTS.refreshTokenLifespan).describe(
        'Lifetime of refresh tokens; slides with use. A login ends after 30 d whatever happens.',
      ),
      auth_code_lifespan: Milliseconds.prefault(DEFAULTS.authCodeLifespan).describe('Lifetime of authorization codes.'),
    })
    .prefault({})
    .describe('How long what is issued lives.'),
  primary_upstream_provider: meaning(config.primaryUpstreamProvider, z.string().max(63).optional()),
  upstreams: z
    .array(Upstream)
    .min(1)
    .max(32)
    .describe(config.upstreamProviders.description ?? ''),
  storage: Storage.default({ type: 'memory' }).describe('Where logins and upstream tokens are kept.'),
  cimd: z
    .strictObject({ enabled: z.boolean().default(false).describe('Accept and advertise them.') })
    .prefault({})
    .describe('Client ID metadata documents.'),
  registration: z
    .strictObject({
      enabled: z.boolean().default(true).describe('Clients may register themselves (RFC 7591).'),
      allowed_redirect_hosts: z
        .array(z.string().max(260))
        .max(64)
        .optional()
        .describe('Hosts of https redirect URIs; absent: all. Loopback is always allowed.'),
    })
    .prefault({})
    .describe('Dynamic client registration.'),
  introspection_clients: z
    .array(
      z.strictObject({
        client_id: z.string().max(512).describe('Client identifier.'),
        client_secret_file: File.describe('File with the client secret.'),
      }),
    )
    .max(16)
    .default([])
    .describe('Who may ask /oauth/introspect. None: the endpoint does not exist.'),
  revalidate_after: meaning(config.revalidateAfter, Milliseconds.prefault(DEFAULTS.revalidateAfter)),
  limits: z
    .strictObject({
      registrations_per_minute: z
        .int()
        .min(1)
        .default(DEFAULTS.registrationsPerMinute)
        .describe('Registrations of one address.'),
      clients: z.int().min(1).default(DEFAULTS.registeredClients).describe('Registered clients.'),
      pending_logins: z.int().min(1).default(DEFAULTS.pendingLogins).describe('Logins under way.'),
      pending_login_lifespan: Milliseconds.prefault(DEFAULTS.pendingLoginLifespan).describe(
        'Longest time that a login may take.',
      ),
    })
    .prefault({})
    .describe('Bounds.'),
});
export type AuthServer = z.infer<typeof AuthServer>;

/** The providers of a server, in a document before or after parsing. */
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
