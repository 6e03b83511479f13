/** Names a test of fields that the runtime copies before it uses them, or that no request of the traffic reaches. */
interface Shown {
  readonly file: string;
  readonly test: string;
  readonly fields: readonly string[];
}

const below = (parent: string, ...names: readonly string[]) => names.map((name) => `${parent}.${name}`);

/** Each field has one entry, and only while no read of it is recorded. */
export const SHOWN_ELSEWHERE: readonly Shown[] = [
  {
    file: 'runtime/incoming/key-source.test.ts',
    test: 'prefers jwks_url, which needs no discovery',
    fields: ['incoming.jwks_url'],
  },
  {
    file: 'runtime/incoming/key-source.test.ts',
    test: 'prefers the keys of the document, which need no call',
    fields: ['incoming.jwks.keys[]{}'],
  },
  {
    file: 'runtime/incoming/key-source.test.ts',
    test: 'reads a key file again when it changes, and bridges one that cannot be read',
    fields: ['incoming.jwks_file'],
  },
  {
    file: 'runtime/incoming/key-source.test.ts',
    test: 'shows the token for the key set to the configured URL and to the issuer, never to a third party',
    fields: ['incoming.jwks_auth_token_file'],
  },
  {
    file: 'e2e/run-config/single-fields.test.ts',
    test: 'replaces each hint of a tool: annotations',
    fields: below(
      'aggregation.tools[].overrides{}.annotations',
      ...['title', 'readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'],
    ),
  },
  {
    file: 'e2e/relay/apps.test.ts',
    test: 'inserts a script into the app with rewrite_calls, without names that the caller may not see',
    fields: ['aggregation.apps.rewrite_calls'],
  },
  {
    file: 'e2e/run-config/single-fields.test.ts',
    test: 'starts another process: restarted_at',
    fields: ['backends[].restarted_at'],
  },
  {
    file: 'e2e/run-config/single-fields.test.ts',
    test: 'sets the level from which lines are logged: log_level',
    fields: ['operational.log_level'],
  },
  {
    file: 'runtime/authserver/consent/implicit-consent.test.ts',
    test: 'has no part in a redirect URI that is not registered',
    fields: ['embedded_auth_server_config.clients[].redirect_uris[]'],
  },
  {
    file: 'runtime/authserver/assertions/redeem-assertion.test.ts',
    test: 'has the groups of groupsClaim, and the email of emailClaim',
    fields: below('embedded_auth_server_config.identity_assertions[]', 'email_claim', 'groups_claim'),
  },
  {
    file: 'runtime/authserver/assertions/redeem-assertion.test.ts',
    test: 'authenticates by private_key_jwt',
    fields: below('embedded_auth_server_config.identity_assertions[].clients[]', 'client_secret_file', 'jwks_url'),
  },
  {
    file: 'runtime/authserver/assertions/redeem-assertion.test.ts',
    test: 'accepts only the configured tenant and lifetime',
    fields: below('embedded_auth_server_config.identity_assertions[]', 'tenant', 'max_lifetime'),
  },
  {
    file: 'runtime/authserver/assertions/redeem-assertion.test.ts',
    test: 'intersects the scopes of assertion, request and issuer',
    fields: ['embedded_auth_server_config.identity_assertions[].scopes[]'],
  },
  {
    file: 'runtime/outgoing/xaa.test.ts',
    test: 'exchanges the stored ID token for an ID-JAG, and redeems that at the target',
    fields: below('backends[].auth', 'idp_token_url', 'target_audience', 'target_resource'),
  },
  {
    file: 'runtime/outgoing/xaa.test.ts',
    test: 'names public clients in the body',
    fields: below('backends[].auth', 'idp_client_id', 'target_client_id'),
  },
  {
    file: 'crds/run-config/find-problems.test.ts',
    test: 'accepts an insecure target of xaa only where that is allowed',
    fields: ['backends[].auth.insecure_target_token_url'],
  },
  {
    file: 'runtime/outgoing/client-credentials.test.ts',
    test: 'signs a new assertion for each request with a private key',
    fields: ['backends[].auth.private_key_id'],
  },
  {
    file: 'runtime/outgoing/aws-sts.test.ts',
    test: 'sign method, path, query, host and body of each request',
    fields: ['backends[].auth.service'],
  },
  {
    file: 'runtime/outgoing/aws-sts.test.ts',
    test: 'come from AssumeRoleWithWebIdentity with the caller’s own token',
    fields: ['backends[].auth.session_duration', 'backends[].auth.role_mappings[].role_arn'],
  },
  {
    file: 'runtime/outgoing/aws-sts.test.ts',
    test: 'name the session by a claim, in the characters that AWS takes',
    fields: ['backends[].auth.session_name_claim'],
  },
  {
    file: 'runtime/outgoing/select-role.test.ts',
    test: 'selects the matching mapping with the lowest priority, then the first',
    fields: ['backends[].auth.role_mappings[].priority'],
  },
  {
    file: 'runtime/outgoing/select-role.test.ts',
    test: 'selects the role that role_claim names if it is configured, else the fallback',
    fields: ['backends[].auth.fallback_role_arn'],
  },
  {
    file: 'e2e/authserver/shared-login.test.ts',
    test: 'appears to administrators only, and refuses other users',
    fields: ['backends[].auth.administrators[]'],
  },
  {
    file: 'e2e/relay/webhooks.test.ts',
    test: 'gets caller, tool and arguments before the call goes out, and never the token',
    fields: ['backends[].webhooks[].url'],
  },
  {
    file: 'runtime/authserver/upstream/oidc-provider.test.ts',
    test: 'takes the subject from another claim',
    fields: ['embedded_auth_server_config.upstreams[].oidc_config.subject_claim'],
  },
  {
    file: 'runtime/authserver/upstream/oauth2-provider.test.ts',
    test: 'reads scope, refresh token and address from nested members',
    fields: ['embedded_auth_server_config.upstreams[].oauth2_config.identity_from_token.email_path'],
  },
];
