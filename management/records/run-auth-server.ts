import { z } from 'zod';

const text = (what: string) => z.string().optional().describe(what);
const flag = (what: string) => z.boolean().optional().describe(what);
const texts = (what: string) => z.array(z.string()).optional().describe(what);

const Tls = z.strictObject({
  ca_cert_file: text('Reference: <secret>/<key>.'),
  insecure_skip_verify: flag('Its certificate is not checked.'),
});

const Storage = z.strictObject({
  type: z.enum(['memory', 'redis']).describe('Where logins are kept.'),
  redis_config: z
    .strictObject({
      auth_type: text('`acl` where a user signs in.'),
      acl_user_config: z
        .strictObject({
          username_env_var: text('Reference: <secret>/<key>.'),
          password_env_var: text('Reference: <secret>/<key>.'),
        })
        .optional()
        .describe('The user that signs in.'),
      sentinel_config: z
        .strictObject({
          master_name: text('Name of the master.'),
          sentinel_addrs: texts('host:port of the Sentinels.'),
          db: z.int().optional().describe('Database number.'),
        })
        .optional()
        .describe('The master is found through Sentinels.'),
      tls: Tls.optional().describe('TLS towards the Redis.'),
      sentinel_tls: Tls.optional().describe('TLS towards the Sentinels.'),
      dial_timeout: text('Longest time to connect, a duration.'),
      read_timeout: text('Longest time to wait for an answer, a duration.'),
      write_timeout: text('Longest time to send, a duration.'),
      key_prefix: text('Prefix of all keys.'),
    })
    .optional()
    .describe('A Redis, with type redis.'),
});

const UserInfo = z.strictObject({
  endpoint_url: text('URL of the webhook.'),
  http_method: text('How.'),
  additional_headers: z.record(z.string(), z.string()).optional().describe('More headers of the request.'),
  field_mapping: z
    .strictObject({
      subject_fields: texts('Fields tried for the subject.'),
      name_fields: texts('Fields tried for the name.'),
      email_fields: texts('Fields tried for the email address.'),
    })
    .optional()
    .describe('Paths of user attributes in the response.'),
});

const client = {
  client_id: text('Client identifier.'),
  client_secret_env_var: text('Reference: <secret>/<key>.'),
  client_secret_file: text('Never there: secrets are references.'),
  redirect_uri: text('Redirect URI that is registered there.'),
  scopes: texts('Scopes that are asked for.'),
};

const Upstream = z.strictObject({
  name: z.string().describe('Its name.'),
  type: z.enum(['oidc', 'oauth2']).describe('Transport.'),
  oidc_config: z
    .strictObject({ ...client, issuer_url: text('Issuer.'), userinfo_override: UserInfo.optional() })
    .optional()
    .describe('With type oidc.'),
  oauth2_config: z
    .strictObject({
      ...client,
      authorization_endpoint: text('Authorization endpoint.'),
      token_endpoint: text('Token endpoint.'),
      userinfo: UserInfo.optional(),
      token_response_mapping: z
        .strictObject({
          access_token_path: text('Path of the access token.'),
          scope_path: text('Path of the scope.'),
          refresh_token_path: text('Path of the refresh token.'),
          expires_in_path: text('Path of the lifetime in seconds.'),
        })
        .optional()
        .describe('Where the token stands in the answer.'),
    })
    .optional()
    .describe('With type oauth2.'),
});

export const RunAuthServer = z
  .strictObject({
    schema_version: z.literal('v0.1.0').describe('Version of this block.'),
    issuer: text('Issuer of its tokens.'),
    authorization_endpoint_base_url: text('Base of the authorization endpoint.'),
    allowed_audiences: texts('Resources that tokens are issued for.'),
    scopes_supported: texts('Scopes that it knows.'),
    signing_key_config: z
      .strictObject({
        key_dir: text('Never there: keys are references.'),
        signing_key_file: text('Reference: <secret>/<key>.'),
        fallback_key_files: texts('References: <secret>/<key>.'),
      })
      .optional()
      .describe('Keys of the tokens.'),
    hmac_secret_files: texts('References: <secret>/<key>.'),
    token_lifespans: z
      .strictObject({
        access_token_lifespan: text('A duration.'),
        refresh_token_lifespan: text('A duration.'),
        auth_code_lifespan: text('A duration.'),
      })
      .optional()
      .describe('Lifetimes of tokens and codes.'),
    upstreams: z.array(Upstream).optional().describe('Where users log in.'),
    storage: Storage.optional().describe('Where logins are kept.'),
  })
  .meta({ id: 'RunAuthServer' });
export type RunAuthServer = z.infer<typeof RunAuthServer>;
