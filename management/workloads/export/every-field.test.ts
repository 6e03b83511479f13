import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { z } from 'zod';
import { openRemoteStore } from '#runtime/remote-login/remote-store';
import { RunConfiguration } from '../../records/run-configuration.ts';
import { EXCHANGE, FULL, ISSUER } from '../testdata/full-workload.ts';
import { type WorkloadsFixture, openWorkloadsFixture } from '../testdata/workloads-fixture.ts';

const document = (kind: string, name: string, spec: object, annotations = {}): [string, string] => [
  `${name}.yaml`,
  JSON.stringify({ apiVersion: 'vmcp.dev/v1alpha1', kind, metadata: { name, annotations }, spec }),
];
const key = (name: string) => ({ name: 'company', key: name });
const remoteUrl = 'https://far.example/mcp';
const withCredential = (name: string, more = {}) => ({ remoteUrl, externalAuthConfigRef: { name }, ...more });

const RECORDED = {
  registry_url: 'https://registry.example/servers.json',
  registry_api_url: 'https://registry.example',
  runtime_config: { builder_image: 'node:24', additional_packages: ['git'] },
  ignore_config: { loadGlobal: true, printOverlays: false },
  skip_browser: true,
};
const USER_INFO = {
  endpointUrl: 'https://id.example/user',
  httpMethod: 'POST',
  additionalHeaders: { 'X-A': 'b' },
  fieldMapping: { subjectFields: ['s'], nameFields: ['n'], emailFields: ['e'] },
};
const SHOWN_USER_INFO = {
  endpoint_url: 'https://id.example/user',
  http_method: 'POST',
  additional_headers: { 'X-A': 'b' },
  field_mapping: { subject_fields: ['s'], name_fields: ['n'], email_fields: ['e'] },
};
const CLIENT = {
  clientId: 'me',
  clientSecretRef: key('upstream'),
  scopes: ['one'],
  redirectUri: 'https://own.example/back',
};
const SHOWN_CLIENT = {
  client_id: 'me',
  client_secret_env_var: 'company/upstream',
  scopes: ['one'],
  redirect_uri: 'https://own.example/back',
};
const TLS = { caCertSecretRef: key('ca'), insecureSkipVerify: true };
const SHOWN_TLS = { ca_cert_file: 'company/ca', insecure_skip_verify: true };
const OWN = {
  issuer: 'https://own.example',
  authorizationEndpointBaseUrl: 'https://login.own.example',
  signingKeySecretRefs: [key('one'), key('two')],
  hmacSecretRefs: [key('hmac')],
  tokenLifespans: { accessTokenLifespan: '2h', refreshTokenLifespan: '48h', authCodeLifespan: '1m' },
  scopesSupported: ['mcp'],
};
const own = (more: object) => ({ type: 'embeddedAuthServer', embeddedAuthServer: { ...OWN, ...more } });
const atOwn = (name: string) =>
  withCredential(name, {
    oidcConfig: { type: 'inline', resourceUrl: 'https://own.example/mcp', inline: { issuer: 'https://own.example' } },
  });

const LOGIN = {
  issuer: 'https://id.example',
  authorizeUrl: 'https://id.example/authorize',
  tokenUrl: 'https://id.example/token',
  scopes: ['read'],
  resource: 'https://far.example',
  oauthParams: { prompt: 'consent' },
  usePkce: false,
  callbackPort: 8765,
  timeout: '3m',
};
const SHOWN_LOGIN = {
  issuer: 'https://id.example',
  authorize_url: 'https://id.example/authorize',
  token_url: 'https://id.example/token',
  scopes: ['read'],
  resource: 'https://far.example',
  oauth_params: { prompt: 'consent' },
  use_pkce: false,
  callback_port: 8765,
  timeout: '3m',
};

const AUDIT = {
  component: 'rest',
  enabled: true,
  eventTypes: ['mcp_tool_call'],
  excludeEventTypes: ['mcp_ping'],
  includeRequestData: true,
  includeResponseData: true,
  logFile: '/var/log/audit.jsonl',
  maxDataSize: 2048,
};
const TELEMETRY = {
  endpoint: 'https://otel.example/v1',
  serviceName: 'rest',
  serviceVersion: '2',
  tracingEnabled: true,
  metricsEnabled: false,
  samplingRate: '0.5',
  headers: { 'X-Plain': 'a' },
  insecure: true,
  enablePrometheusMetricsPath: false,
  environmentVariables: ['REGION'],
  customAttributes: { team: 'ops' },
  useLegacyAttributes: true,
};

const MANIFESTS = Object.fromEntries([
  document('MCPExternalAuthConfig', 'exchanging-own', {
    type: 'tokenExchange',
    tokenExchange: {
      tokenUrl: 'https://sts.example/token',
      clientId: 'me',
      clientSecretRef: key('exchange'),
      audience: 'api',
      scopes: ['a'],
      subjectTokenType: 'urn:ietf:params:oauth:token-type:jwt',
    },
  }),
  document('MCPExternalAuthConfig', 'aws', {
    type: 'awsSts',
    awsSts: {
      region: 'eu-central-1',
      service: 'execute-api',
      roleClaim: 'roles',
      roleMappings: [{ claim: 'team', matcher: 'ops*', priority: 3, roleArn: 'arn:aws:iam::1:role/ops' }],
      fallbackRoleArn: 'arn:aws:iam::1:role/all',
      sessionDuration: 1800,
      sessionNameClaim: 'email',
    },
  }),
  document('MCPExternalAuthConfig', 'inject', { type: 'upstreamInject', upstreamInject: { providerName: 'github' } }),
  document(
    'MCPExternalAuthConfig',
    'own-oauth2',
    own({
      headerStrategy: 'custom',
      customHeaderName: 'X-Token',
      storage: {
        type: 'redis',
        redis: {
          sentinelConfig: { masterName: 'main', sentinelAddrs: ['s1:26379'], db: 3 },
          aclUserConfig: { usernameSecretRef: key('user'), passwordSecretRef: key('password') },
          tls: TLS,
          sentinelTls: { ...TLS, insecureSkipVerify: false },
          dialTimeout: '1s',
          readTimeout: '2s',
          writeTimeout: '3s',
          keyPrefix: 'own:',
        },
      },
      upstreamProviders: [
        {
          name: 'github',
          type: 'oauth2',
          oauth2Config: {
            ...CLIENT,
            authorizationEndpoint: 'https://id.example/authorize',
            tokenEndpoint: 'https://id.example/token',
            userInfo: USER_INFO,
            tokenResponseMapping: {
              accessTokenPath: 'a.b',
              scopePath: 'c',
              refreshTokenPath: 'd',
              expiresInPath: 'e',
            },
          },
        },
      ],
    }),
  ),
  document(
    'MCPExternalAuthConfig',
    'own-oidc',
    own({
      upstreamProviders: [
        {
          name: 'company',
          type: 'oidc',
          oidcConfig: { ...CLIENT, issuerUrl: 'https://id.example', userInfoOverride: USER_INFO },
        },
      ],
    }),
  ),
  document('MCPServer', 'exchanging', withCredential('exchanging-own')),
  document('MCPServer', 'signed', withCredential('aws', { audit: { enabled: false } })),
  document('MCPServer', 'injected', withCredential('inject')),
  document('MCPServer', 'with-oauth2', atOwn('own-oauth2')),
  document('MCPServer', 'with-oidc', atOwn('own-oidc')),
  document('MCPServer', 'login', { remoteUrl, remoteAuth: LOGIN }, { 'vmcp.dev/recorded': JSON.stringify(RECORDED) }),
  document('MCPServer', 'given', {
    remoteUrl,
    remoteAuth: { ...LOGIN, clientId: 'me', clientSecretRef: key('client') },
  }),
  document('MCPServer', 'fixed', { remoteUrl, remoteAuth: { bearerTokenSecretRef: key('token') } }),
  document('MCPServer', 'rest', {
    image: 'example/rest:1',
    oidcConfig: {
      type: 'inline',
      inline: {
        issuer: 'https://id.example',
        clientId: 'introspector',
        clientSecretRef: key('introspection'),
        introspectionUrl: 'https://id.example/introspect',
        jwksUrl: 'https://10.0.0.1/keys',
        jwksAllowPrivateIP: true,
        caBundleRef: { name: 'authorities' },
      },
    },
    audit: AUDIT,
    telemetry: {
      ...TELEMETRY,
      headersFromSecret: { Authorization: key('otel') },
      caBundleRef: { name: 'authorities' },
    },
    webhooks: {
      validating: [
        {
          name: 'checker',
          url: 'https://checker.example/',
          failurePolicy: 'ignore',
          tls: {
            clientCertSecretRef: key('certificate'),
            clientKeySecretRef: key('certificate-key'),
            insecureSkipVerify: true,
          },
        },
      ],
    },
    sessionStorage: {
      provider: 'redis',
      redis: {
        sentinelConfig: { masterName: 'main', sentinelAddrs: ['s1:26379', 's2:26379'], db: 2 },
        keyPrefix: 'r:',
      },
    },
  }),
]);

let fixture: WorkloadsFixture;
beforeAll(() => {
  fixture = openWorkloadsFixture({ ...MANIFESTS, 'full.yaml': FULL, 'of-full.yaml': EXCHANGE, 'issuer.yaml': ISSUER });
});
afterAll(() => fixture.remove());
const of = async (name: string): Promise<RunConfiguration> =>
  RunConfiguration.parse(await fixture.services().runConfigurations.render(name));

it('renders every setting of a token exchange', async () => {
  expect((await of('exchanging')).token_exchange_config).toEqual({
    token_url: 'https://sts.example/token',
    client_id: 'me',
    client_secret: 'company/exchange',
    audience: 'api',
    scopes: ['a'],
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    header_strategy: 'replace',
  });
});

it('renders every setting of AWS roles', async () => {
  expect((await of('signed')).aws_sts_config).toEqual({
    region: 'eu-central-1',
    service: 'execute-api',
    role_claim: 'roles',
    role_mappings: [{ claim: 'team', matcher: 'ops*', priority: 3, role_arn: 'arn:aws:iam::1:role/ops' }],
    fallback_role_arn: 'arn:aws:iam::1:role/all',
    session_duration: 1800,
    session_name_claim: 'email',
  });
});

it('includes audit in the middleware only if it is enabled', async () => {
  const servicesOf = async (name: string) => (await of(name)).middleware_configs.map(({ type }) => type);
  expect([(await servicesOf('signed')).includes('audit'), (await servicesOf('rest')).includes('audit')]).toEqual([
    false,
    true,
  ]);
});

it('names the provider whose stored token replaces the caller’s token', async () => {
  expect([(await of('injected')).upstream_swap_config, (await of('with-oidc')).upstream_swap_config]).toEqual([
    { provider_name: 'github', header_strategy: 'replace' },
    { provider_name: 'company', header_strategy: 'replace' },
  ]);
});

it('renders every setting of the authorization server, for each type of provider', async () => {
  const server = {
    schema_version: 'v0.1.0',
    issuer: 'https://own.example',
    authorization_endpoint_base_url: 'https://login.own.example',
    allowed_audiences: ['https://own.example/mcp'],
    scopes_supported: ['mcp'],
    signing_key_config: { signing_key_file: 'company/one', fallback_key_files: ['company/two'] },
    hmac_secret_files: ['company/hmac'],
    token_lifespans: { access_token_lifespan: '2h', refresh_token_lifespan: '48h', auth_code_lifespan: '1m' },
  };
  expect((await of('with-oauth2')).embedded_auth_server_config).toEqual({
    ...server,
    upstreams: [
      {
        name: 'github',
        type: 'oauth2',
        oauth2_config: {
          ...SHOWN_CLIENT,
          authorization_endpoint: 'https://id.example/authorize',
          token_endpoint: 'https://id.example/token',
          userinfo: SHOWN_USER_INFO,
          token_response_mapping: {
            access_token_path: 'a.b',
            scope_path: 'c',
            refresh_token_path: 'd',
            expires_in_path: 'e',
          },
        },
      },
    ],
    storage: {
      type: 'redis',
      redis_config: {
        auth_type: 'acl',
        acl_user_config: { username_env_var: 'company/user', password_env_var: 'company/password' },
        sentinel_config: { master_name: 'main', sentinel_addrs: ['s1:26379'], db: 3 },
        tls: SHOWN_TLS,
        sentinel_tls: { ...SHOWN_TLS, insecure_skip_verify: false },
        dial_timeout: '1s',
        read_timeout: '2s',
        write_timeout: '3s',
        key_prefix: 'own:',
      },
    },
  });
  expect((await of('with-oidc')).embedded_auth_server_config).toEqual({
    ...server,
    upstreams: [
      {
        name: 'company',
        type: 'oidc',
        oidc_config: { ...SHOWN_CLIENT, issuer_url: 'https://id.example', userinfo_override: SHOWN_USER_INFO },
      },
    ],
    storage: { type: 'memory' },
  });
});

it('renders the login at a remote server, with the record names that its runtime uses', async () => {
  const readBytes = () => randomBytes(32);
  const about = { scopes: ['read'], oauth_params: {}, use_pkce: false, timeout: 1, administrators: [] };
  const kept = { storage: { type: 'memory' as const }, sealing_secret_files: ['seal'] };
  const owner = { namespace: 'default', name: 'login', uid: 'x' };
  const { issuer, authorize_url, token_url, resource } = SHOWN_LOGIN;
  const idWith = async (more: { client_id?: string }) => {
    const auth = { type: 'remote_auth' as const, issuer, authorize_url, token_url, resource, ...about, ...kept, owner };
    const where = { url: remoteUrl, readFile: () => '', readBytes, now: Date.now };
    const store = await openRemoteStore({ ...auth, ...more }, where);
    await store.close();
    return store.id;
  };
  const [registered, given] = [await idWith({}), await idWith({ client_id: 'me' })];
  expect((await of('login')).remote_auth_config).toEqual({
    ...SHOWN_LOGIN,
    skip_browser: true,
    cached_refresh_token_ref: registered,
    cached_client_id: `${registered}-client`,
    cached_client_secret_ref: `${registered}-client`,
  });
  expect((await of('given')).remote_auth_config).toEqual({
    ...SHOWN_LOGIN,
    client_id: 'me',
    client_secret: 'company/client',
    cached_refresh_token_ref: given,
  });
  expect((await of('fixed')).remote_auth_config).toEqual({
    bearer_token: 'company/token',
    use_pkce: true,
    timeout: '5m',
  });
});

it('renders client authentication, webhooks, telemetry, audit and session storage', async () => {
  const { oidc_config, validating_webhooks, scaling_config, audit_config, telemetry_config } = await of('rest');
  expect({ oidc_config, validating_webhooks, scaling_config, audit_config, telemetry_config }).toEqual({
    audit_config: AUDIT,
    telemetry_config: TELEMETRY,
    oidc_config: {
      issuer: 'https://id.example',
      clientID: 'introspector',
      clientSecret: 'company/introspection',
      introspectionURL: 'https://id.example/introspect',
      jwksurl: 'https://10.0.0.1/keys',
      allowPrivateIP: true,
      insecureAllowHTTP: false,
      cacertPath: 'configmap:authorities/ca.crt',
    },
    validating_webhooks: [
      {
        name: 'checker',
        url: 'https://checker.example/',
        timeout: 10,
        failure_policy: 'ignore',
        tls_config: {
          client_cert_path: 'company/certificate',
          client_key_path: 'company/certificate-key',
          insecure_skip_verify: true,
        },
      },
    ],
    scaling_config: { session_redis: { address: 's1:26379,s2:26379', db: 2, key_prefix: 'r:' } },
  });
});

/** Record fields that vmcp cannot fill. */
const NEVER = [
  // The workload contains its audit settings; there is no file.
  'audit_config_path',
  // Secrets are references to Secrets, not files.
  'remote_auth_config.bearer_token_file',
  'remote_auth_config.client_secret_file',
  'embedded_auth_server_config.signing_key_config.key_dir',
  'embedded_auth_server_config.upstreams.oauth2_config.client_secret_file',
  'embedded_auth_server_config.upstreams.oidc_config.client_secret_file',
  // No registration token is stored, and records are sealed.
  'remote_auth_config.cached_reg_token_ref',
  'remote_auth_config.cached_secret_expiry',
  'remote_auth_config.cached_token_expiry',
];

const Schema = z.object({
  $ref: z.string().optional(),
  properties: z.record(z.string(), z.unknown()).default({}),
  items: z.unknown().optional(),
});
const { $defs = {}, ...RECORD } = z.toJSONSchema(RunConfiguration, { io: 'output' });

/** Yields the paths of all fields of a schema, or of those that some of the values have. */
function* fieldsOf(schema: unknown, path: string, values?: readonly unknown[]): Generator<string> {
  const { $ref, properties, items } = Schema.parse(schema);
  if ($ref !== undefined) yield* fieldsOf($defs[$ref.replace('#/$defs/', '')], path, values);
  if (items !== undefined) yield* fieldsOf(items, path, values?.flat());
  for (const [name, inside] of Object.entries(properties)) {
    const field = path === '' ? name : `${path}.${name}`;
    const found = values?.flatMap((value) => (value as Record<string, unknown>)[name] ?? []);
    if (found?.length === 0) continue;
    yield field;
    yield* fieldsOf(inside, field, found);
  }
}

it('renders every field of the record in some workload, except fields without a value in vmcp', async () => {
  const names = (await fixture.services().workloads.all()).map(({ name }) => name);
  const exports = await Promise.all(names.map(of));
  const met = new Set(fieldsOf(RECORD, '', exports));
  expect([...fieldsOf(RECORD, '')].filter((field) => !met.has(field)).sort()).toEqual([...NEVER].sort());
});
