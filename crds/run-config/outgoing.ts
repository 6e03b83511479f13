import { z } from 'zod';
import { DEFAULTS } from '../parts/defaults.ts';
import { HeaderName, Milliseconds, text } from '../parts/primitives.ts';
import { Storage } from './storage.ts';

const Url = z.url().max(2048);
const File = text(4096);
const Type = <T extends string>(type: T) => z.literal(type).describe('How requests are authenticated.');

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
export const TokenExchange = z.strictObject({
  type: Type('token_exchange'),
  token_url: Url.describe('Token endpoint that exchanges (RFC 8693).'),
  client_id: z.string().max(512).optional().describe('Client identifier at that endpoint.'),
  client_secret_file: File.optional().describe('File with the client secret.'),
  audience: z.string().max(2048).optional().describe('`audience` that is asked for.'),
  scopes: z.array(text(256)).max(64).default([]).describe('Scopes that are asked for.'),
  subject_token_type: z
    .string()
    .max(256)
    .optional()
    .describe('Type of the subject token; default urn:ietf:params:oauth:token-type:access_token.'),
  subject_provider_name: z
    .string()
    .max(63)
    .optional()
    .describe("Provider whose stored token is the subject token; absent: the caller's own token."),
  external_token_header_name: z
    .string()
    .max(256)
    .optional()
    .describe('Header that carries the token; default Authorization.'),
  ca_bundle_file: File.optional().describe('Certificate authorities that are trusted besides the usual ones.'),
});
export type TokenExchange = z.infer<typeof TokenExchange>;

const UpstreamInject = z.strictObject({
  type: Type('upstream_inject'),
  provider_name: z.string().max(63).describe('Provider whose stored token is sent.'),
  header_strategy: z
    .enum(['replace', 'custom'])
    .default('replace')
    .describe('`replace`: the token goes into Authorization; `custom`: into custom_header_name.'),
  custom_header_name: z.string().max(256).optional().describe('Header of the token, with header_strategy custom.'),
});

const AwsSts = z.strictObject({
  type: Type('aws_sts'),
  region: z.string().max(64).describe('AWS region.'),
  service: z.string().max(64).optional().describe('Service name of the signature; default aws-mcp.'),
  role_claim: z
    .string()
    .max(256)
    .optional()
    .describe('Claim whose values stand for roles, or name one by its ARN; default of mappings: groups.'),
  role_mappings: z
    .array(
      z.strictObject({
        claim: z
          .string()
          .max(256)
          .optional()
          .describe('Claim that is looked at; without a matcher, a value of the role claim.'),
        matcher: z.string().max(1024).optional().describe('Value that it must have; * stands for any text.'),
        priority: z.int().optional().describe('The lowest one that matches wins; absent: last.'),
        role_arn: z.string().max(2048).describe('Role that is assumed.'),
      }),
    )
    .max(100)
    .default([])
    .describe('Which caller gets which role.'),
  fallback_role_arn: z.string().max(2048).optional().describe('Role when none matches; absent: the call is refused.'),
  session_duration: z
    .int()
    .min(900)
    .max(43_200)
    .optional()
    .describe('Seconds that the credentials last; default 3600.'),
  session_name_claim: z.string().max(256).optional().describe('Claim that names the session; default sub.'),
});

/** vmcp's login at the authorization server of a remote server. All callers share the token's identity. */
export const RemoteAuth = z.strictObject({
  type: Type('remote_auth'),
  issuer: Url.optional().describe('Issuer; absent: the challenge of the server says it.'),
  authorize_url: Url.optional().describe('Authorization endpoint; absent: found by discovery.'),
  token_url: Url.optional().describe('Token endpoint; absent: found by discovery.'),
  client_id: z.string().max(512).optional().describe('Client identifier; absent: vmcp registers itself.'),
  client_secret_file: File.optional().describe('File with the client secret.'),
  scopes: z.array(text(256)).max(64).default([]).describe('Scopes that are asked for.'),
  resource: Url.optional().describe('Resource indicator (RFC 8707); default the URL of the server.'),
  oauth_params: z
    .record(z.string().max(256), z.string().max(2048))
    .default({})
    .describe('More parameters of the authorization request.'),
  use_pkce: z.boolean().default(true).describe('Use PKCE (RFC 7636).'),
  callback_port: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe('Port of the callback on this machine; absent: the private port.'),
  timeout: Milliseconds.prefault(DEFAULTS.remoteLoginTimeout).describe('Longest time that the login may take.'),
  administrators: z
    .array(text(512))
    .max(100)
    .default([])
    .describe(
      'Subjects of users who begin and end the login at /connections; empty: who runs this, at the private port.',
    ),
  storage: Storage.describe('Where the tokens are kept, sealed.'),
  sealing_secret_files: z.array(File).min(1).max(16).describe('Files with secrets: the first seals, all open.'),
  owner: z
    .strictObject({
      namespace: z.string().max(63).describe('Namespace.'),
      name: z.string().max(63).describe('Name.'),
      uid: z.string().max(64).describe('Identity that a new resource of the same name does not have.'),
    })
    .describe('Which MCPServer the tokens belong to: they open for no other.'),
});
export type RemoteAuth = z.infer<typeof RemoteAuth>;

/** Boundary 2 of one backend. */
export const BackendAuth = z.discriminatedUnion('type', [
  Unauthenticated,
  HeaderInjection,
  BearerToken,
  TokenExchange,
  UpstreamInject,
  AwsSts,
  RemoteAuth,
]);
export type BackendAuth = z.infer<typeof BackendAuth>;
