import { z } from 'zod';
import { AuditConfig } from '#crds/parts/audit';
import { TelemetryConfig } from '#crds/parts/telemetry';
import { recordedFields } from './recorded.ts';
import { RunAuthServer } from './run-auth-server.ts';

const text = (what: string) => z.string().optional().describe(what);
const flag = (what: string) => z.boolean().optional().describe(what);
const number = (what: string) => z.int().optional().describe(what);
const texts = (what: string) => z.array(z.string()).optional().describe(what);
const textMap = (what: string) => z.record(z.string(), z.string()).optional().describe(what);

const scalars = {
  schema_version: z.literal('v0.1.0').describe('Version of this document.'),
  name: z.string().describe('Name of the workload.'),
  base_name: text('The same.'),
  container_name: text('What its program is called where it runs.'),
  group: text('Its group.'),
  image: text('Container image.'),
  remote_url: text('URL of a remote server.'),
  transport: z.enum(['stdio', 'sse', 'streamable-http']).optional().describe('Transport.'),
  proxy_mode: z.enum(['sse', 'streamable-http']).optional().describe('What its own endpoint speaks.'),
  host: text('Address that its own endpoint listens on.'),
  port: number('Port of its own endpoint.'),
  target_host: text('Host of its program.'),
  target_port: number('Port that its program listens on.'),
  endpoint_prefix: text('Path prefix of its own endpoint.'),
  trust_proxy_headers: flag('Forwarding headers of trusted proxies count.'),
  isolate_network: flag('It may not reach every address.'),
  permission_profile_name_or_path: text('`none`, `network`, or configmap:<name>/<key>.'),
  k8s_pod_template_patch: text('What is merged over its pod template, as JSON.'),
  vmcp_ca_bundle: text('Certificate authorities that it is trusted by besides the usual ones: configmap:<name>/<key>.'),
  jwks_auth_token_file: text('File with the token that its key set is asked with.'),
  audit_config_path: text('File of the audit settings; they stand in audit_config here.'),
  authz_config_path: text(
    'Where the policies stand, when they are not written in the workload: configmap:<name>/<key>.',
  ),
  registry_api_url: text('API of the registry that its entry came from.'),
  registry_url: text('URL of the registry that its entry came from.'),
  env_file_dir: text('Folder of the machine with files of variables for its container.'),
  allow_docker_gateway: flag('Its container knows the machine as host.docker.internal.'),
  debug: flag('Its own endpoint logs in detail.'),
};

const lists = {
  cmd_args: texts('Arguments of its program.'),
  env_vars: textMap('Environment variables; secrets stand under `secrets`.'),
  secrets: texts('<secret>/<key>,target=<environment variable>'),
  volumes: texts('<folder of the machine>:<folder that the program sees>[:ro]'),
  tools_filter: texts('The only tools that are offered, by original name.'),
  tools_override: z
    .record(z.string(), z.strictObject({ name: z.string().optional(), description: z.string().optional() }))
    .optional()
    .describe('Original tool name to what replaces its own texts.'),
  container_labels: textMap('Labels of what its program runs in.'),
  publish: texts('More ports of its container: [address:][port here:]port there.'),
  header_forward: z
    .strictObject({
      add_plaintext_headers: textMap('Header to value.'),
      add_headers_from_secret: textMap('Header to reference: <secret>/<key>.'),
    })
    .optional()
    .describe('Headers that are added to requests to it.'),
};

const RoleMapping = z.strictObject({
  claim: text('Claim that is looked at.'),
  matcher: text('Value that it must have.'),
  priority: number('The lowest one that matches wins.'),
  role_arn: z.string().describe('Role that is assumed.'),
});

const incoming = {
  oidc_config: z
    .strictObject({
      issuer: text('Issuer of the tokens.'),
      audience: text('`aud` that a token must have.'),
      clientID: text('Client for introspection.'),
      clientSecret: text('Reference: <secret>/<key>.'),
      introspectionURL: text('Introspection endpoint.'),
      jwksurl: text('Key set.'),
      resourceURL: text('URL of the endpoint as clients write it.'),
      scopes: texts('Scopes that every token must have.'),
      allowPrivateIP: flag('The key set may be at a private address.'),
      insecureAllowHTTP: flag('The issuer may be http.'),
      authTokenFile: text('File with the token that the key set is asked with.'),
      cacertPath: text('Certificate authorities of the issuer: configmap:<name>/<key>.'),
    })
    .optional()
    .describe('Whose tokens its own endpoint lets in.'),
  authz_config: z
    .strictObject({ type: z.literal('cedarv1').describe('Language.'), version: z.literal('1.0').describe('Version.') })
    .optional()
    .describe('It has policies of its own.'),
  audit_config: AuditConfig.partial().optional().describe('Audit events of its own endpoint.'),
  telemetry_config: TelemetryConfig.partial().optional().describe('Traces and metrics of its own endpoint.'),
  embedded_auth_server_config: RunAuthServer.optional().describe('Its own authorization server.'),
  validating_webhooks: z
    .array(
      z.strictObject({
        name: z.string().describe('Name.'),
        url: z.string().describe('URL of the webhook.'),
        timeout: number('Seconds to wait for its answer.'),
        failure_policy: z.enum(['fail', 'ignore']).optional().describe('What its failure means.'),
        hmac_secret_ref: text('Reference: <secret>/<key>.'),
        tls_config: z
          .strictObject({
            ca_bundle_path: text('configmap:<name>/<key>'),
            client_cert_path: text('Reference: <secret>/<key>.'),
            client_key_path: text('Reference: <secret>/<key>.'),
            insecure_skip_verify: flag('Its certificate is not checked.'),
          })
          .optional()
          .describe('TLS towards it.'),
      }),
    )
    .optional()
    .describe('Webhooks that are asked before each call of a tool.'),
  middleware_configs: z
    .array(
      z.strictObject({
        type: z.string().describe('Type of the middleware.'),
        parameters: z.record(z.string(), z.unknown()).describe('Its settings, without secrets.'),
      }),
    )
    .describe('The middleware that a request passes, in order.'),
};

const outgoing = {
  aws_sts_config: z
    .strictObject({
      region: text('AWS region.'),
      service: text('Service name of the signature.'),
      role_claim: text('Claim whose values stand for roles.'),
      role_mappings: z.array(RoleMapping).optional().describe('Maps callers to roles.'),
      fallback_role_arn: text('Role when none matches.'),
      session_duration: number('Seconds that the credentials last.'),
      session_name_claim: text('Claim that names the session.'),
    })
    .optional()
    .describe('Requests to it are signed for AWS.'),
  token_exchange_config: z
    .strictObject({
      token_url: text('Token endpoint that exchanges (RFC 8693).'),
      client_id: text('Client identifier at that endpoint.'),
      client_secret: text('Reference: <secret>/<key>.'),
      audience: text('`audience` that is asked for.'),
      scopes: texts('Scopes that are asked for.'),
      subject_token_type: text('Type of the subject token.'),
      external_token_header_name: text('Header that carries the token.'),
      header_strategy: text('`custom` with a header of its own, else `replace`.'),
    })
    .optional()
    .describe('The caller’s token is exchanged for one for it.'),
  upstream_swap_config: z
    .strictObject({
      provider_name: text('Provider whose stored token is sent.'),
      header_strategy: z.enum(['replace', 'custom']).optional().describe('Where the token goes.'),
      custom_header_name: text('Header of the token, with `custom`.'),
    })
    .optional()
    .describe('Which stored token takes the place of the caller’s.'),
  remote_auth_config: z
    .strictObject({
      issuer: text('Issuer.'),
      authorize_url: text('Authorization endpoint.'),
      token_url: text('Token endpoint.'),
      client_id: text('Client identifier.'),
      client_secret: text('Reference: <secret>/<key>.'),
      client_secret_file: text('Never there: secrets are references.'),
      bearer_token: text('Reference: <secret>/<key>.'),
      bearer_token_file: text('Never there: secrets are references.'),
      scopes: texts('Scopes that are asked for.'),
      resource: text('Resource indicator (RFC 8707).'),
      oauth_params: textMap('More parameters of the authorization request.'),
      use_pkce: flag('Use PKCE (RFC 7636).'),
      callback_port: number('Port of the callback on this machine.'),
      skip_browser: flag('The login is not opened in a browser by itself.'),
      timeout: text('Longest time that the login may take, a duration.'),
      cached_client_id: text('Record of the session store with the client that vmcp registered.'),
      cached_client_secret_ref: text('Record with its secret: the same.'),
      cached_reg_token_ref: text('Never there: no registration token is kept.'),
      cached_refresh_token_ref: text('Record with the refresh token.'),
      cached_token_expiry: text('Never there: the record is sealed.'),
      cached_secret_expiry: text('Never there: the record is sealed.'),
    })
    .optional()
    .describe('How vmcp logs in at a remote server.'),
};

const others = {
  scaling_config: z
    .strictObject({
      backend_replicas: number('Pods of the program.'),
      session_redis: z
        .strictObject({
          address: text('host:port'),
          db: number('Database number.'),
          key_prefix: text('Prefix of all keys.'),
        })
        .optional()
        .describe('Storage of sessions.'),
    })
    .optional()
    .describe('How many there are, and what they share.'),
  runtime_config: recordedFields.runtime_config,
  ignore_config: recordedFields.ignore_config,
};

export const RunConfiguration = z
  .strictObject({ ...scalars, ...lists, ...incoming, ...outgoing, ...others })
  .meta({ id: 'WorkloadRunConfiguration' });
export type RunConfiguration = z.infer<typeof RunConfiguration>;
