import { RuntimeStatus } from '#crds/run-config/runtime-status';
import type { RunConfig } from '#crds/run-config/run-config';
import { SECRET } from '../accepted/arbitrary-resources.ts';
import { protectedGateway } from '../attacks/protected-gateway.ts';
import { arrange } from '../authserver/arrangement.ts';
import { callWhoami, toolNames } from '../authserver/call-tool.ts';
import type { ProviderSpec } from '../authserver/providers.ts';
import { serveEverything } from '../fakes/everything-server/serve.ts';
import { serveIdentityProvider } from '../fakes/identity-provider/serve.ts';
import { serveProtected } from '../fakes/remote-server/serve-protected.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { until } from '../gateway/until.ts';
import { Robot } from '../robot/robot.ts';
import { serveWhoami } from '../fakes/whoami/serve.ts';
import { allow, serveWebhook } from '../fakes/webhook/serve-webhook.ts';
import { serveGateway, type ServedGateway } from '../gateway/serve-gateway.ts';
import { send, sendModern, SessionClient } from '../gateway/session-client.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import { sdkServerCommand } from '../sdk-servers/start-sdk-server.ts';
import { closing } from '../relay/gateway-to.ts';

type Observe = (config: RunConfig) => RunConfig;

const TOKEN = 'sesame-of-the-status-page-0123456789';
const BUCKET = { max_tokens: 100, refill_period: '1s' };
const RULE = { requests: 100, per: '1s', on_store_failure: 'closed' } as const;

/** Limits that no test exceeds. */
const limitsOf = (tool: string): GatewayConfig['rate_limiting'] => ({
  rules: [
    { ...RULE, scope: 'user' },
    { ...RULE, scope: 'tool', tool },
  ],
  ...{ shared: BUCKET, per_user: BUCKET },
  tools: [{ name: tool, shared: BUCKET, per_user: BUCKET }],
});

const HINTS = {
  title: 'Say',
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** Lists and calls in both revisions, and reads the pages of the private port. */
async function exercise(gateway: ServedGateway, tool: string, headers: Record<string, string> = {}): Promise<void> {
  const session = await SessionClient.open(gateway.url, headers);
  for (const method of ['tools/list', 'prompts/list', 'resources/list']) {
    await session.request(method);
    await sendModern(gateway.url, method, {}, headers);
  }
  await session.call(tool, {});
  await session.request('prompts/get', { name: 'alpha_hello' });
  await sendModern(gateway.url, 'tools/call', { name: tool, arguments: {} }, headers);
  const origin = `http://127.0.0.1:${gateway.runtime.address.privatePort}`;
  for (const path of ['/status', '/metrics', '/readyz']) {
    await send(`${origin}${path}`, 'GET', { authorization: `Bearer ${TOKEN}` });
  }
}

/** Calls through aggregation, limits and deadlines. */
async function callMembers(observe: Observe): Promise<void> {
  const [alpha, beta] = [closing(await serveEverything()), closing(await serveEverything())];
  const webhook = closing(await serveWebhook(allow));
  const override = { name: 'say', description: 'Says something' };
  const config: GatewayConfig = {
    incoming: { type: 'anonymous' },
    status_token_file: 'status',
    aggregation: {
      ...{ conflict_resolution: 'prefix', prefix_format: '{workload}_', prefix_mode: 'always' },
      tools: [
        { workload: 'alpha', filter: ['test_simple_text'], overrides: { test_simple_text: { annotations: HINTS } } },
        { workload: 'beta', exclude_all: true },
      ],
      prompts: [
        {
          workload: 'alpha',
          filter: ['test_simple_prompt'],
          overrides: { test_simple_prompt: { name: 'hello', description: 'Greets' } },
        },
        { workload: 'beta', exclude_all: true },
      ],
    },
    operational: { timeouts: { default: '30s', per_workload: { alpha: '20s' }, maximum: '60s' } },
    passthrough_headers: ['x-tenant'],
    rate_limiting: limitsOf('alpha_say'),
    backends: [
      {
        ...{ name: 'alpha', transport: 'streamable-http', url: alpha.url, rate_limiting: limitsOf('say') },
        ...{ tools_filter: ['test_simple_text'], tools_override: { test_simple_text: override } },
        webhooks: [{ name: 'check', url: webhook.url }],
      },
      { name: 'beta', transport: 'streamable-http', url: beta.url },
      { name: 'gamma', transport: 'stdio', working_directory: import.meta.dirname, ...sdkServerCommand('old') },
    ],
  };
  const gateway = closing(await serveGateway(config, { files: { status: TOKEN }, observe }));
  await exercise(gateway, 'alpha_say', { 'x-tenant': 'a', origin: gateway.origin });
}

/** Names that the order of backends decides, and an endpoint without tools. */
async function listByPriority(observe: Observe): Promise<void> {
  const member = closing(await serveWhoami());
  const backends: GatewayConfig['backends'] = ['alpha', 'beta'].map((name) => ({
    ...{ name, transport: 'streamable-http', url: member.url },
  }));
  const overrides = { whoami: { name: 'who', description: 'Tells the caller' } };
  const aggregation: GatewayConfig['aggregation'] = {
    ...{ conflict_resolution: 'priority', priority_order: ['beta', 'alpha'] },
    tools: [{ workload: 'alpha', overrides }],
  };
  for (const more of [{}, { exclude_all_tools: true }]) {
    const config: GatewayConfig = {
      incoming: { type: 'anonymous' },
      backends,
      aggregation: { ...aggregation, ...more },
    };
    await exercise(closing(await serveGateway(config, { observe })), 'who');
  }
}

/** Calls with a token of an issuer. */
async function callWithTokens(observe: Observe): Promise<void> {
  const member = closing(await serveWhoami());
  const auth = { type: 'bearer_token', token_file: 'token' } as const;
  const protectedBy = await protectedGateway({
    incoming: { scopes: ['mcp'], required_typ: 'at+jwt', required_subject: 'alice', groups_claim: 'teams' },
    config: {
      allowed_origins: ['https://app.example'],
      backends: [{ name: 'alpha', transport: 'streamable-http', url: member.url, auth }],
    },
    files: { token: TOKEN },
    observe,
  });
  const headers = {
    authorization: `Bearer ${await protectedBy.token({ scope: 'mcp', teams: ['a'] }, { typ: 'at+jwt' })}`,
    origin: 'https://app.example',
  };
  await exercise(protectedBy.gateway, 'alpha_whoami', headers);
}

const PROVIDERS: readonly ProviderSpec[] = [
  { name: 'first', kind: 'real', more: { additional_authorization_params: { prompt: 'login' } } },
  { name: 'named', kind: 'odd', options: { oidc: true, refresh: 'rotates' } },
  { name: 'plain', kind: 'odd', options: { refresh: 'rotates' } },
  { name: 'nested', kind: 'odd', options: { answers: 'nested', refresh: 'rotates', expiresIn: 600 } },
];

type AuthServer = NonNullable<GatewayConfig['embedded_auth_server_config']>;
type Upstream = AuthServer['upstreams'][number];

const userInfo = (issuer: string) => ({
  endpoint_url: `${issuer}/userinfo`,
  additional_headers: { 'x-version': '7' },
  field_mapping: { subject_fields: ['sub'], name_fields: ['name'], email_fields: ['email'] },
});

/** Adds scopes and an endpoint of user-info. */
function withUserInfo(upstream: Upstream): Upstream {
  if (upstream.type === 'oauth2') {
    if (upstream.oauth2_config.userinfo === undefined) return upstream;
    const { origin } = new URL(upstream.oauth2_config.token_endpoint);
    const asked = { ...userInfo(origin), ...upstream.oauth2_config.userinfo };
    return { ...upstream, oauth2_config: { ...upstream.oauth2_config, scopes: ['profile'], userinfo: asked } };
  }
  if (upstream.name !== 'named') return upstream;
  const scopes = ['openid', 'profile'];
  const userinfo_override = userInfo(upstream.oidc_config.issuer_url);
  return { ...upstream, oidc_config: { ...upstream.oidc_config, scopes, userinfo_override } };
}

/** Logs in at the embedded authorization server, calls with the token, and refreshes it. */
async function logIn(observe: Observe): Promise<void> {
  const registration = { enabled: true, allowed_redirect_hosts: ['app.example'] };
  const authServer = { registration, scopes_supported: ['mcp', 'offline_access'] };
  const setup = closing(await arrange({ providers: PROVIDERS, authServer, observe }));
  const config = setup.configOf().embedded_auth_server_config!;
  await setup.restart({
    embedded_auth_server_config: { ...config, upstreams: config.upstreams.map(withUserInfo) },
  });
  const client = await setup.client();
  await setup.client({ redirect_uris: ['https://app.example/back'] });
  const tokens = await client.login({ user: 'alice' });
  await toolNames(setup.resource, tokens.access_token);
  for (const { name } of PROVIDERS) await callWhoami(setup.resource, tokens.access_token, name);
  await callWhoami(setup.resource, tokens.access_token, 'exchanged');
  await client.refresh(tokens.refresh_token);
}

const REDIS = {
  ...{ key_prefix: 'e2e:', dial_timeout: '50ms', read_timeout: '50ms', write_timeout: '50ms' },
  acl_user_config: { username_file: 'user', password_file: 'password' },
  tls: { ca_cert_file: 'authority', insecure_skip_verify: false },
};
const SENTINELS = { master_name: 'main', sentinel_addrs: ['127.0.0.1:1'], db: 1 };

/** Opens stores of logins at remote servers; none of them answers. */
async function openLoginStores(observe: Observe): Promise<void> {
  const stores = [
    { ...REDIS, addr: '127.0.0.1:1', db: 1 },
    { ...REDIS, sentinel_config: SENTINELS, sentinel_tls: REDIS.tls },
  ];
  const member = closing(await serveWhoami());
  const backends = stores.map((redis, index) => ({
    ...{ name: `remote-${index}`, transport: 'streamable-http' as const, url: member.url },
    auth: {
      type: 'remote_auth' as const,
      storage: { type: 'redis' as const, redis },
      sealing_secret_files: ['sealing'],
      owner: { namespace: 'e2e', name: `remote-${index}`, uid: 'u' },
    },
  }));
  const files = { user: 'someone', password: TOKEN, sealing: TOKEN, authority: SECRET['tls.crt'] ?? '' };
  closing(await serveGateway({ incoming: { type: 'anonymous' }, backends }, { files, observe }));
}

/** Logs in at a remote server. */
async function logInAtServer(observe: Observe): Promise<void> {
  const issuer = closing(await serveIdentityProvider());
  const member = closing(await serveProtected({ issuer: issuer.issuer }));
  const auth = {
    type: 'remote_auth' as const,
    ...{ issuer: issuer.issuer, resource: member.url, scopes: ['mcp'], oauth_params: { prompt: 'login' } },
    ...{ use_pkce: true, callback_port: await findFreePort(), timeout: '60s' },
    storage: { type: 'memory' as const },
    sealing_secret_files: ['sealing'],
    owner: { namespace: 'e2e', name: 'remote', uid: 'u' },
  };
  const backends = [{ name: 'remote', transport: 'streamable-http' as const, url: member.url, auth }];
  const config: GatewayConfig = { incoming: { type: 'anonymous' }, backends };
  const gateway = closing(await serveGateway(config, { files: { sealing: TOKEN }, observe }));
  const status = `http://127.0.0.1:${gateway.runtime.address.privatePort}/status`;
  const remote = async () => RuntimeStatus.parse(await (await fetch(status)).json()).backends[0];
  await until('the URL of the login', async () => typeof (await remote())?.login_url === 'string');
  await new Robot().walk((await remote())?.login_url ?? '', { user: 'alice' });
  await until('the login', async () => (await remote())?.phase === 'ready');
}

/** Serves documents with requests that reach most fields; what it opens is closed by `closeAll`. */
export const TRAFFIC: readonly ((observe: Observe) => Promise<void>)[] = [
  callMembers,
  listByPriority,
  callWithTokens,
  logIn,
  openLoginStores,
  logInAtServer,
];
