import { z } from 'zod';
import { Milliseconds } from '../parts/primitives.ts';
import { Storage } from './storage.ts';

const File = z.string().min(1).max(4096);
const Url = z.url().max(2048);
const Scopes = z.array(z.string().min(1).max(256)).max(64);
const Names = z.array(z.string().min(1).max(256)).max(16);

const UserInfo = z.strictObject({
  endpoint_url: Url,
  http_method: z.enum(['GET', 'POST']).default('GET'),
  additional_headers: z.record(z.string().max(256), z.string().max(4096)).default({}),
  field_mapping: z
    .strictObject({ subject_fields: Names.optional(), name_fields: Names.optional(), email_fields: Names.optional() })
    .optional(),
});

const upstream = {
  name: z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/),
  required: z.boolean().default(true),
  additional_authorization_params: z.record(z.string().max(256), z.string().max(2048)).default({}),
  ca_bundle_file: File.optional(),
};
const client = {
  client_id: z.string().min(1).max(512),
  client_secret_file: File.optional(),
  redirect_uri: Url.optional(),
  scopes: Scopes.default([]),
};

/** One upstream identity provider, in the order in which a login visits them. */
export const Upstream = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('oidc'),
    ...upstream,
    oidc_config: z.strictObject({
      ...client,
      issuer_url: Url,
      subject_claim: z.string().max(256).optional(),
      userinfo_override: UserInfo.optional(),
    }),
  }),
  z.strictObject({
    type: z.literal('oauth2'),
    ...upstream,
    oauth2_config: z.strictObject({
      ...client,
      authorization_endpoint: Url,
      token_endpoint: Url,
      userinfo: UserInfo.optional(),
      token_response_mapping: z
        .strictObject({
          access_token_path: z.string().max(512).optional(),
          scope_path: z.string().max(512).optional(),
          refresh_token_path: z.string().max(512).optional(),
          expires_in_path: z.string().max(512).optional(),
        })
        .optional(),
      identity_from_token: z
        .strictObject({
          subject_path: z.string().max(512),
          name_path: z.string().max(512).optional(),
          email_path: z.string().max(512).optional(),
        })
        .optional(),
    }),
  }),
]);

/** The embedded authorization server, as its configuration inside a run configuration. */
export const AuthServer = z.strictObject({
  schema_version: z.literal('v0.1.0').default('v0.1.0'),
  issuer: Url,
  authorization_endpoint_base_url: Url.optional(),
  insecure_allow_http: z.boolean().default(false),
  allowed_audiences: z.array(z.string().max(2048)).max(16).default([]),
  scopes_supported: Scopes.default(['mcp', 'offline_access']),
  signing_key_config: z
    .strictObject({ signing_key_file: File, fallback_key_files: z.array(File).max(16).default([]) })
    .optional(),
  hmac_secret_files: z.array(File).max(16).default([]),
  token_lifespans: z
    .strictObject({
      access_token_lifespan: Milliseconds.prefault('1h'),
      refresh_token_lifespan: Milliseconds.prefault('168h'),
      auth_code_lifespan: Milliseconds.prefault('10m'),
    })
    .prefault({}),
  primary_upstream_provider: z.string().max(63).optional(),
  upstreams: z.array(Upstream).min(1).max(32),
  storage: Storage.default({ type: 'memory' }),
  cimd: z.strictObject({ enabled: z.boolean().default(false) }).prefault({}),
  registration: z
    .strictObject({
      enabled: z.boolean().default(true),
      allowed_redirect_hosts: z.array(z.string().max(253)).max(64).optional(),
    })
    .prefault({}),
  introspection_clients: z
    .array(z.strictObject({ client_id: z.string().max(512), client_secret_file: File }))
    .max(16)
    .default([]),
  revalidate_after: Milliseconds.prefault('1h'),
  limits: z
    .strictObject({
      registrations_per_minute: z.int().min(1).default(10),
      clients: z.int().min(1).default(10_000),
      pending_logins: z.int().min(1).default(10_000),
      pending_login_lifespan: Milliseconds.prefault('10m'),
    })
    .prefault({}),
});
export type AuthServer = z.infer<typeof AuthServer>;
