import { z } from 'zod';
import {
  AwsSts as AwsStsConfig,
  ClientCredentials as ClientCredentialsConfig,
  TokenExchange as TokenExchangeConfig,
  Xaa as XaaConfig,
} from '../parts/backend-credentials.ts';
import { inMilliseconds, meaning, objectLike } from '../parts/meaning.ts';
import { HeaderName, text } from '../parts/primitives.ts';
import { CaBundleRef } from '../parts/references.ts';
import { RemoteAuth as RemoteAuthConfig } from '../parts/workload.ts';
import { Storage } from './storage.ts';

const Url = z.url().max(2048);
const File = text(4096);
const Type = <T extends string>(type: T) =>
  z.literal(type).describe('Method that authenticates requests to the backend.');

const Unauthenticated = z.strictObject({ type: Type('unauthenticated') });
const HeaderInjection = z.strictObject({
  type: Type('header_injection'),
  header_name: HeaderName.describe('Name of the header.'),
  value_file: File.describe('File with its value.'),
});
const BearerToken = z.strictObject({
  type: Type('bearer_token'),
  token_file: File.describe('File with the token.'),
});

/** RFC 8693. The subject token is the caller's own JWT, or the stored token of `subject_provider_name`. */
export const TokenExchange = objectLike(TokenExchangeConfig, {
  type: Type('token_exchange'),
  token_url: Url,
  client_id: z.string().max(512).optional(),
  client_secret_file: File.optional().describe('File with the client secret.'),
  audience: z.string().max(2048).optional(),
  scopes: z.array(text(256)).max(64).default([]),
  subject_token_type: z.string().max(256).optional(),
  subject_provider_name: z.string().max(63).optional(),
  external_token_header_name: z.string().max(256).optional(),
  ca_bundle_file: meaning(CaBundleRef, File.optional()),
});
export type TokenExchange = z.infer<typeof TokenExchange>;

/** The stored ID token of `subject_provider_name` is exchanged for an ID-JAG, which the target redeems. */
export const Xaa = objectLike(XaaConfig, {
  type: Type('xaa'),
  idp_token_url: Url,
  idp_client_id: z.string().max(512).optional(),
  idp_client_secret_file: File.optional().describe('File with the client secret at the identity provider.'),
  target_token_url: Url,
  target_client_id: z.string().max(512).optional(),
  target_client_secret_file: File.optional().describe('File with the client secret at target_token_url.'),
  target_audience: text(2048),
  target_resource: text(2048).optional(),
  scopes: z.array(text(256)).max(64).default([]),
  subject_provider_name: z.string().max(63).describe('Provider whose stored ID token is exchanged.'),
  subject_token_type: z.string().max(256).optional(),
  insecure_target_token_url: z.boolean().default(false),
  ca_bundle_file: meaning(CaBundleRef, File.optional()),
});
export type Xaa = z.infer<typeof Xaa>;

export const ClientCredentials = objectLike(ClientCredentialsConfig, {
  type: Type('client_credentials'),
  token_url: Url,
  client_id: text(512),
  client_secret_file: File.optional().describe('File with the client secret.'),
  private_key_file: File.optional().describe('File with the private key of private_key_jwt, in PEM form.'),
  private_key_id: z.string().max(256).optional(),
  issuer: z.string().max(2048).optional(),
  audience: z.string().max(2048).optional(),
  resource: z.string().max(2048).optional(),
  scopes: z.array(text(256)).max(64).default([]),
  external_token_header_name: z.string().max(256).optional(),
  ca_bundle_file: meaning(CaBundleRef, File.optional()),
});
export type ClientCredentials = z.infer<typeof ClientCredentials>;

const UpstreamInject = z.strictObject({
  type: Type('upstream_inject'),
  provider_name: z.string().max(63).describe('Provider whose stored token is sent.'),
  header_strategy: z
    .enum(['replace', 'custom'])
    .default('replace')
    .describe('`replace`: the token goes into Authorization; `custom`: into custom_header_name.'),
  custom_header_name: z.string().max(256).optional().describe('Header of the token, with header_strategy custom.'),
});

const AwsSts = objectLike(AwsStsConfig, {
  type: Type('aws_sts'),
  region: z.string().max(64),
  service: z.string().max(64).optional(),
  role_claim: z.string().max(256).optional(),
  role_mappings: z
    .array(
      objectLike(AwsStsConfig.shape.roleMappings, {
        claim: z.string().max(256).optional(),
        matcher: z.string().max(1024).optional(),
        priority: z.int().optional(),
        role_arn: z.string().max(2048),
      }),
    )
    .max(100)
    .default([]),
  fallback_role_arn: z.string().max(2048).optional(),
  session_duration: AwsStsConfig.shape.sessionDuration,
  session_name_claim: z.string().max(256).optional(),
});

/** vmcp's login at the authorization server of a remote server. All callers share the token's identity. */
export const RemoteAuth = objectLike(RemoteAuthConfig, {
  type: Type('remote_auth'),
  issuer: Url.optional(),
  authorize_url: Url.optional(),
  token_url: Url.optional(),
  client_id: z.string().max(512).optional(),
  client_secret_file: File.optional().describe('File with the client secret.'),
  scopes: z.array(text(256)).max(64).default([]),
  resource: Url.optional().describe('Resource indicator (RFC 8707); default the URL of the server.'),
  oauth_params: z.record(z.string().max(256), z.string().max(2048)).default({}),
  use_pkce: RemoteAuthConfig.shape.usePkce,
  callback_port: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe('Port of the callback on this machine; absent: the private port.'),
  timeout: inMilliseconds(RemoteAuthConfig.shape.timeout),
  administrators: z
    .array(text(512))
    .max(100)
    .default([])
    .describe(
      'Subjects of users who begin and end the login at /connections; empty: who runs this, at the private port.',
    ),
  storage: Storage.describe('Storage of the sealed tokens.'),
  sealing_secret_files: z.array(File).min(1).max(16).describe('Files with secrets: the first seals, all open.'),
  owner: z
    .strictObject({
      namespace: z.string().max(63).describe('Namespace.'),
      name: z.string().max(63).describe('Name.'),
      uid: z.string().max(64).describe('Identity that a new resource of the same name does not have.'),
    })
    .describe('MCPServer that owns the tokens. They open for no other.'),
});
export type RemoteAuth = z.infer<typeof RemoteAuth>;

/** Boundary 2 of one backend. */
export const BackendAuth = z.discriminatedUnion('type', [
  Unauthenticated,
  HeaderInjection,
  BearerToken,
  TokenExchange,
  Xaa,
  ClientCredentials,
  UpstreamInject,
  AwsSts,
  RemoteAuth,
]);
export type BackendAuth = z.infer<typeof BackendAuth>;
