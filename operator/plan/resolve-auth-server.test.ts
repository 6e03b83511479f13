import { describe, expect, it } from '@jest/globals';
import { AuthServerConfig } from '#crds/parts/auth-server-config';
import { AuthServer } from '#crds/run-config/auth-server';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { FileList } from '#operator/plan/file-list';
import { findWarnings } from '#operator/plan/find-warnings';
import { resolveAuthServer } from '#operator/plan/resolve-auth-server';
import type { ServerSpec } from '#operator/plan/server-spec';
import type { Snapshot } from '#operator/snapshot';
import { AUTHORITY } from './testdata/authority.ts';

const snapshot: Snapshot = {
  namespace: 'default',
  apiGroup: 'vmcp.dev',
  platform: { mode: 'local', directory: '/x', ports: {}, backendPorts: {}, uids: {}, loginDirectory: '/x/logins' },
  virtualMcpServers: {},
  mcpGroups: {},
  mcpServers: {},
  mcpExternalAuthConfigs: {},
  mcpOidcConfigs: {},
  secrets: { keys: { new: 'n'.repeat(16), old: 'o'.repeat(16), hmac: 'h'.repeat(16), client: 'c'.repeat(16) } },
  configMaps: { ca: { 'ca.crt': AUTHORITY } },
  generated: {},
  documents: {},
  observed: {},
};
const files = () => new FileList(snapshot, { secret: '/s', config: '/c' });

const incoming: RunConfigDocument['incoming'] = {
  type: 'oidc',
  issuer: 'https://mcp.example',
  audience: 'https://mcp.example/mcp',
  embedded: true,
};

const written = {
  issuer: 'https://mcp.example',
  authorizationEndpointBaseUrl: 'https://login.example/',
  signingKeySecretRefs: [
    { name: 'keys', key: 'new' },
    { name: 'keys', key: 'old' },
  ],
  hmacSecretRefs: [{ name: 'keys', key: 'hmac' }],
  tokenLifespans: { accessTokenLifespan: '30m' },
  introspectionClients: [{ clientId: 'api', clientSecretRef: { name: 'keys', key: 'client' } }],
  registration: { allowedRedirectHosts: ['*.example'] },
  upstreamProviders: [
    {
      name: 'okta',
      type: 'oidc',
      required: false,
      oidcConfig: {
        issuerUrl: 'https://okta.example',
        clientId: 'ok',
        subjectClaim: 'oid',
        userInfoOverride: {
          endpointUrl: 'https://okta.example/me',
          httpMethod: 'POST',
          additionalHeaders: { 'X-A': 'b' },
        },
      },
      additionalAuthorizationParams: { access_type: 'offline' },
    },
    {
      name: 'github',
      type: 'oauth2',
      caBundleRef: { name: 'ca' },
      oauth2Config: {
        authorizationEndpoint: 'https://github.example/authorize',
        tokenEndpoint: 'https://github.example/token',
        clientId: 'gh',
        clientSecretRef: { name: 'keys', key: 'client' },
        scopes: ['repo'],
        redirectUri: 'https://mcp.example/own/callback',
        userInfo: { endpointUrl: 'https://api.github.example/user', fieldMapping: { subjectFields: ['id'] } },
        tokenResponseMapping: { accessTokenPath: 'authed_user.access_token' },
        identityFromToken: { subjectPath: 'user.id' },
      },
    },
  ],
  storage: { type: 'redis', redis: { addr: 'redis.example:6379' } },
};

const resolve = (change: object = {}, boundary = incoming, url: string | undefined = 'https://mcp.example/mcp') =>
  resolveAuthServer(
    AuthServerConfig.parse({ ...written, ...change }),
    boundary,
    { resourceUrl: url, keyPrefix: 'vmcp:default/demo:' },
    files(),
  );

describe('resolveAuthServer', () => {
  it('renders the server in full, as its runtime reads it', () => {
    const { document } = resolve();
    const parsed = AuthServer.parse(document);
    expect(parsed).toMatchObject({
      issuer: 'https://mcp.example',
      authorization_endpoint_base_url: 'https://login.example/',
      allowed_audiences: ['https://mcp.example/mcp'],
      signing_key_config: {
        signing_key_file: `/s/keys.new-${'n'.repeat(16)}`,
        fallback_key_files: [`/s/keys.old-${'o'.repeat(16)}`],
      },
      hmac_secret_files: [`/s/keys.hmac-${'h'.repeat(16)}`],
      token_lifespans: { access_token_lifespan: 1_800_000, refresh_token_lifespan: 604_800_000 },
      registration: { enabled: true, allowed_redirect_hosts: ['*.example'] },
      introspection_clients: [{ client_id: 'api' }],
      storage: { type: 'redis', redis: { addr: 'redis.example:6379', key_prefix: 'vmcp:default/demo:' } },
    });
    expect(parsed.upstreams[0]).toMatchObject({
      type: 'oidc',
      required: false,
      additional_authorization_params: { access_type: 'offline' },
      oidc_config: {
        subject_claim: 'oid',
        userinfo_override: { http_method: 'POST', additional_headers: { 'X-A': 'b' } },
      },
    });
    expect(parsed.upstreams[1]).toMatchObject({
      type: 'oauth2',
      ca_bundle_file: expect.stringMatching(/^\/c\/ca\.ca\.crt-[0-9a-f]{16}$/),
      oauth2_config: {
        client_secret_file: `/s/keys.client-${'c'.repeat(16)}`,
        token_response_mapping: { access_token_path: 'authed_user.access_token' },
        identity_from_token: { subject_path: 'user.id' },
        userinfo: { field_mapping: { subject_fields: ['id'] } },
      },
    });
  });

  it('takes the first required provider as the primary one', () => {
    expect(resolve().document.primary_upstream_provider).toBe('github');
  });

  it('returns the redirect URIs to register: below the base URL, or the written ones', () => {
    expect(resolve().redirectUris).toEqual({
      okta: 'https://login.example/oauth/callback/okta',
      github: 'https://mcp.example/own/callback',
    });
  });

  it.each([
    ['another issuer', { ...incoming, issuer: 'https://mcp.example/' }, 'https://mcp.example/mcp', /byte for byte/],
    ['another audience', { ...incoming, audience: 'api://x' }, 'https://mcp.example/mcp', /audience must be/],
    ['no resourceUrl', incoming, undefined, /resourceUrl/],
    ['an anonymous boundary', { type: 'anonymous' as const }, 'https://mcp.example/mcp', /type oidc/],
    ['service account tokens', { ...incoming, jwks: { keys: [] } }, 'https://mcp.example/mcp', /its own issuer/],
  ])('rejects settings with %s', (_what, boundary, url, message) => {
    const config = AuthServerConfig.parse(written);
    expect(() => resolveAuthServer(config, boundary, { resourceUrl: url, keyPrefix: 'p:' }, files())).toThrow(message);
  });
});

describe('OpenToEveryAccount', () => {
  const spec = {
    config: { groupRef: 'tools' },
    incomingAuth: { type: 'oidc' },
    outgoingAuth: {},
  } as unknown as ServerSpec;
  const document = (more: Partial<RunConfigDocument>): RunConfigDocument => ({
    schema_version: 'v0.1.0',
    server: { namespace: 'default', name: 'demo', uid: 'u' },
    incoming,
    backends: [{ name: 'a', transport: 'streamable-http', url: 'https://a.example/mcp' }],
    embedded_auth_server_config: resolve().document,
    ...more,
  });
  const warnings = (more: Partial<RunConfigDocument>) =>
    findWarnings(spec, document(more), ['a'], snapshot).filter(({ type }) => type === 'OpenToEveryAccount');

  it('warns of an embedded server without policies', () => {
    expect(warnings({}).map(({ reason }) => reason)).toEqual(['NoPolicy']);
  });

  it('adds to the warning when a backend has a credential that all callers share', () => {
    const shared = {
      name: 'a',
      transport: 'streamable-http' as const,
      url: 'https://a.example/mcp',
      auth: { type: 'bearer_token' as const, token_file: '/s/t' },
    };
    const [warning] = warnings({ backends: [shared] });
    expect(warning).toMatchObject({
      reason: 'NoPolicyAndSharedCredential',
      message: expect.stringContaining('at: a.'),
    });
  });

  it('does not warn of a server with policies', () => {
    expect(warnings({ authz: { policies: [] } })).toEqual([]);
  });
});
