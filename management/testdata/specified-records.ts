/**
 * A record as the specification and the decisions define it, independent of the code: a type, the values of an enumeration, a list, a map
 * (`*`), fields, or the name of another record.
 */
export type Shape = string | readonly [Shape] | { readonly [field: string]: Shape };

const TEXT = 'string';
const TEXTS = ['string'] as const;
const NUMBER = 'integer';
const FLAG = 'boolean';
const MAP = { '*': TEXT } as const;
const TRANSPORT = 'stdio|sse|streamable-http';
const PROXY_MODE = 'sse|streamable-http';
const STATUS = 'running|stopped|error|starting|stopping|unhealthy|removing|unknown|unauthenticated';

const texts = <const F extends string>(...fields: F[]) =>
  Object.fromEntries(fields.map((field) => [field, TEXT])) as Record<F, typeof TEXT>;

const AUTH = { ...texts('audience', 'client_id', 'issuer'), scopes: TEXTS };
const REGISTRY_INFO = {
  auth_config: AUTH,
  auth_status: 'none|configured|authenticated',
  auth_type: '|oauth',
  ...texts('last_updated', 'name', 'source', 'version'),
  server_count: NUMBER,
  type: 'file|url|api|default',
};
const ENTRY = {
  custom_metadata: { '*': 'any' },
  ...texts('description', 'name', 'overview', 'repository_url', 'title'),
  env_vars: ['EnvVar'],
  metadata: 'EntryMetadata',
  proxy_port: NUMBER,
  status: 'active|deprecated',
  tags: TEXTS,
  tier: 'Official|Community',
  tools: TEXTS,
  transport: TRANSPORT,
} as const;
const PROFILE = {
  name: TEXT,
  network: {
    inbound: { allow_host: TEXTS },
    mode: TEXT,
    outbound: { allow_host: TEXTS, allow_port: [NUMBER], insecure_allow_all: FLAG },
  },
  privileged: FLAG,
  read: TEXTS,
  write: TEXTS,
} as const;
const OAUTH = {
  ...texts('authorize_url', 'client_id', 'issuer', 'resource', 'token_url'),
  callback_port: NUMBER,
  oauth_params: MAP,
  scopes: TEXTS,
  use_pkce: FLAG,
};
const HEADER = { choices: TEXTS, ...texts('default', 'description', 'name'), required: FLAG, secret: FLAG };
const HEADER_FORWARD = { add_headers_from_secret: MAP, add_plaintext_headers: MAP };
const OVERRIDES = { '*': { description: TEXT, name: TEXT } };
const TARGET = texts('name', 'target');
const USER_INFO = {
  additional_headers: MAP,
  ...texts('endpoint_url', 'http_method'),
  field_mapping: { email_fields: TEXTS, name_fields: TEXTS, subject_fields: TEXTS },
};
const TLS = { ca_cert_file: TEXT, insecure_skip_verify: FLAG };
const UPSTREAM_CLIENT = {
  ...texts('client_id', 'client_secret_env_var', 'client_secret_file', 'redirect_uri'),
  scopes: TEXTS,
};

const RUN_CONFIGURATION = {
  allow_docker_gateway: FLAG,
  ...texts('audit_config_path', 'authz_config_path', 'base_name', 'container_name', 'endpoint_prefix'),
  ...texts('env_file_dir', 'group', 'host', 'image', 'jwks_auth_token_file', 'k8s_pod_template_patch', 'name'),
  ...texts('permission_profile_name_or_path', 'registry_api_url', 'registry_url', 'remote_url', 'target_host'),
  vmcp_ca_bundle: TEXT,
  schema_version: 'v0.1.0',
  debug: FLAG,
  isolate_network: FLAG,
  trust_proxy_headers: FLAG,
  port: NUMBER,
  target_port: NUMBER,
  proxy_mode: PROXY_MODE,
  transport: TRANSPORT,
  cmd_args: TEXTS,
  publish: TEXTS,
  secrets: TEXTS,
  tools_filter: TEXTS,
  volumes: TEXTS,
  container_labels: MAP,
  env_vars: MAP,
  tools_override: OVERRIDES,
  audit_config: {
    ...texts('component', 'logFile'),
    enabled: FLAG,
    eventTypes: TEXTS,
    excludeEventTypes: TEXTS,
    includeRequestData: FLAG,
    includeResponseData: FLAG,
    maxDataSize: NUMBER,
  },
  authz_config: { type: 'cedarv1', version: '1.0' },
  aws_sts_config: {
    ...texts('fallback_role_arn', 'region', 'role_claim', 'service', 'session_name_claim'),
    role_mappings: [{ ...texts('claim', 'matcher', 'role_arn'), priority: NUMBER }],
    session_duration: NUMBER,
  },
  embedded_auth_server_config: 'RunAuthServer',
  header_forward: HEADER_FORWARD,
  ignore_config: { loadGlobal: FLAG, printOverlays: FLAG },
  middleware_configs: [{ parameters: { '*': 'any' }, type: TEXT }],
  oidc_config: {
    ...texts('audience', 'authTokenFile', 'cacertPath', 'clientID', 'clientSecret', 'introspectionURL', 'issuer'),
    ...texts('jwksurl', 'resourceURL'),
    allowPrivateIP: FLAG,
    insecureAllowHTTP: FLAG,
    scopes: TEXTS,
  },
  remote_auth_config: {
    ...texts('authorize_url', 'bearer_token', 'bearer_token_file', 'cached_client_id', 'cached_client_secret_ref'),
    ...texts('cached_refresh_token_ref', 'cached_reg_token_ref', 'cached_secret_expiry', 'cached_token_expiry'),
    ...texts('client_id', 'client_secret', 'client_secret_file', 'issuer', 'resource', 'timeout', 'token_url'),
    callback_port: NUMBER,
    oauth_params: MAP,
    scopes: TEXTS,
    skip_browser: FLAG,
    use_pkce: FLAG,
  },
  runtime_config: { additional_packages: TEXTS, builder_image: TEXT },
  scaling_config: { backend_replicas: NUMBER, session_redis: { ...texts('address', 'key_prefix'), db: NUMBER } },
  telemetry_config: {
    customAttributes: MAP,
    ...texts('endpoint', 'samplingRate', 'serviceName', 'serviceVersion'),
    environmentVariables: TEXTS,
    headers: MAP,
    enablePrometheusMetricsPath: FLAG,
    insecure: FLAG,
    metricsEnabled: FLAG,
    tracingEnabled: FLAG,
    useLegacyAttributes: FLAG,
  },
  token_exchange_config: {
    ...texts('audience', 'client_id', 'client_secret', 'external_token_header_name', 'header_strategy'),
    ...texts('subject_token_type', 'token_url'),
    scopes: TEXTS,
  },
  upstream_swap_config: { ...texts('custom_header_name', 'provider_name'), header_strategy: 'replace|custom' },
  validating_webhooks: [
    {
      failure_policy: 'fail|ignore',
      ...texts('hmac_secret_ref', 'name', 'url'),
      timeout: NUMBER,
      tls_config: { ...texts('ca_bundle_path', 'client_cert_path', 'client_key_path'), insecure_skip_verify: FLAG },
    },
  ],
} as const;

export const RECORDS: Readonly<Record<string, Shape>> = {
  Client: { name: TEXT, groups: TEXTS },
  RegistryInfo: REGISTRY_INFO,
  Registry: { ...REGISTRY_INFO, registry: 'RegistryContent' },
  RegistryContent: {
    groups: ['RegistryGroup'],
    last_updated: TEXT,
    remote_servers: { '*': 'RemoteServer' },
    servers: { '*': 'ImageServer' },
    version: TEXT,
  },
  RegistryGroup: {
    ...texts('description', 'name'),
    remote_servers: { '*': 'RemoteServer' },
    servers: { '*': 'ImageServer' },
  },
  ImageServer: {
    ...ENTRY,
    args: TEXTS,
    docker_tags: TEXTS,
    image: TEXT,
    permissions: PROFILE,
    provenance: 'Provenance',
    target_port: NUMBER,
  },
  RemoteServer: { ...ENTRY, headers: ['Header'], oauth_config: 'OAuthConfig', url: TEXT },
  EnvVar: { ...texts('default', 'description', 'name'), required: FLAG, secret: FLAG },
  Header: HEADER,
  EntryMetadata: {
    kubernetes: texts('image', 'kind', 'name', 'namespace', 'transport', 'uid'),
    last_updated: TEXT,
    stars: NUMBER,
  },
  OAuthConfig: OAUTH,
  Provenance: {
    attestation: { predicate: 'any', predicate_type: TEXT },
    ...texts('cert_issuer', 'repository_ref', 'repository_uri', 'runner_environment', 'signer_identity'),
    sigstore_url: TEXT,
  },
  InstalledSkill: {
    clients: TEXTS,
    dependencies: [texts('digest', 'name', 'reference')],
    ...texts('digest', 'installed_at', 'project_root', 'reference', 'tag'),
    metadata: 'SkillMetadata',
    scope: 'user|project',
    status: 'installed|pending|failed',
  },
  SkillMetadata: { ...texts('author', 'description', 'name', 'version'), tags: TEXTS },
  WorkloadSummary: {
    ...texts('created_at', 'group', 'name', 'package', 'started_at', 'status_context', 'url'),
    labels: MAP,
    port: NUMBER,
    proxy_mode: PROXY_MODE,
    remote: FLAG,
    status: STATUS,
    tools: TEXTS,
    transport_type: TRANSPORT,
  },
  WorkloadDetail: {
    ...texts('authz_config', 'group', 'host', 'image', 'name', 'url'),
    cmd_arguments: TEXTS,
    env_vars: MAP,
    header_forward: HEADER_FORWARD,
    headers: [HEADER],
    network_isolation: FLAG,
    oauth_config: { ...OAUTH, bearer_token: TARGET, client_secret: TARGET, skip_browser: FLAG },
    oidc: {
      ...texts('audience', 'client_id', 'client_secret', 'introspection_url', 'issuer', 'jwks_url'),
      scopes: TEXTS,
    },
    permission_profile: PROFILE,
    proxy_mode: PROXY_MODE,
    proxy_port: NUMBER,
    secrets: [TARGET],
    target_port: NUMBER,
    tools: TEXTS,
    tools_override: OVERRIDES,
    transport: TRANSPORT,
    trust_proxy_headers: FLAG,
    volumes: TEXTS,
  },
  WorkloadChanged: { name: TEXT, port: NUMBER },
  OperationAccepted: { operation_id: TEXT, accepted: TEXTS, unknown: TEXTS },
  RunConfiguration: RUN_CONFIGURATION,
  RunAuthServer: {
    allowed_audiences: TEXTS,
    ...texts('authorization_endpoint_base_url', 'issuer'),
    schema_version: 'v0.1.0',
    hmac_secret_files: TEXTS,
    scopes_supported: TEXTS,
    signing_key_config: { fallback_key_files: TEXTS, ...texts('key_dir', 'signing_key_file') },
    storage: {
      type: 'memory|redis',
      redis_config: {
        acl_user_config: texts('password_env_var', 'username_env_var'),
        ...texts('auth_type', 'dial_timeout', 'key_prefix', 'read_timeout', 'write_timeout'),
        sentinel_config: { db: NUMBER, master_name: TEXT, sentinel_addrs: TEXTS },
        sentinel_tls: TLS,
        tls: TLS,
      },
    },
    token_lifespans: texts('access_token_lifespan', 'auth_code_lifespan', 'refresh_token_lifespan'),
    upstreams: [
      {
        name: TEXT,
        type: 'oidc|oauth2',
        oauth2_config: {
          ...UPSTREAM_CLIENT,
          ...texts('authorization_endpoint', 'token_endpoint'),
          token_response_mapping: texts('access_token_path', 'expires_in_path', 'refresh_token_path', 'scope_path'),
          userinfo: USER_INFO,
        },
        oidc_config: { ...UPSTREAM_CLIENT, issuer_url: TEXT, userinfo_override: USER_INFO },
      },
    ],
  },
};

/** Fields that the decisions add to a record: workload settings of its run configuration, and the text of a client in a cluster. */
export const ADDED: Readonly<Record<string, readonly string[]>> = {
  Client: ['configuration'],
  ImageServer: ['stdio_process'],
  WorkloadChanged: ['warnings'],
  WorkloadDetail: [
    'command',
    'stdio_process',
    'publish',
    'allow_docker_gateway',
    'env_file_dir',
    'debug',
    'registry_url',
    'registry_api_url',
    'runtime_config',
    'container_name',
    'container_labels',
    'ignore_config',
  ],
};
