import { afterEach, describe, expect, it } from '@jest/globals';
import { RunConfiguration } from '../../records/run-configuration.ts';
import { EXCHANGE, FULL, head, ISSUER, RECORDED } from '../testdata/full-workload.ts';
import { type WorkloadsFixture, openWorkloadsFixture } from '../testdata/workloads-fixture.ts';

let fixture: WorkloadsFixture;
afterEach(() => fixture.remove());

const of = async (name: string, manifests: Record<string, string>): Promise<RunConfiguration> => {
  fixture = openWorkloadsFixture(manifests);
  return RunConfiguration.parse(await fixture.services().runConfigurations.render(name));
};

describe('RunConfigurations', () => {
  it('renders every setting of a workload; secrets are references', async () => {
    const config = await of('full', { 'full.yaml': FULL, 'exchange.yaml': EXCHANGE, 'issuer.yaml': ISSUER });
    expect(config).toEqual({
      schema_version: 'v0.1.0',
      name: 'full',
      base_name: 'full',
      container_name: 'mcp-full',
      group: 'tools',
      image: 'example/full:1',
      transport: 'streamable-http',
      proxy_mode: 'streamable-http',
      host: '127.0.0.1',
      port: 9000,
      target_host: '127.0.0.1',
      target_port: 8000,
      endpoint_prefix: '/full',
      trust_proxy_headers: true,
      isolate_network: true,
      jwks_auth_token_file: '/var/run/secrets/keys/token',
      permission_profile_name_or_path: 'none',
      k8s_pod_template_patch: '{"metadata":{"labels":{"tier":"gold"}}}',
      container_labels: { tier: 'gold' },
      vmcp_ca_bundle: 'configmap:authorities/ca.crt',
      authz_config_path: 'configmap:policies/authz.json',
      cmd_args: ['--fast'],
      env_vars: { LEVEL: 'debug' },
      secrets: ['company/token,target=TOKEN', 'company/other,target=other'],
      volumes: ['/data:/in:ro'],
      tools_filter: ['find'],
      tools_override: { find: { name: 'search' } },
      header_forward: {
        add_plaintext_headers: { 'X-Plain': 'a' },
        add_headers_from_secret: { 'X-Secret': 'company/header' },
      },
      oidc_config: {
        issuer: 'https://id.example',
        audience: 'full',
        clientID: 'introspector',
        clientSecret: 'company/introspection',
        resourceURL: 'https://full.example/mcp',
        scopes: ['read'],
        authTokenFile: '/var/run/secrets/keys/token',
        insecureAllowHTTP: false,
      },
      authz_config: { type: 'cedarv1', version: '1.0' },
      audit_config: expect.objectContaining({ enabled: true, component: 'full', maxDataSize: 1024 }),
      telemetry_config: expect.objectContaining({ endpoint: 'https://otel.example/v1', samplingRate: '0.05' }),
      validating_webhooks: [
        {
          name: 'checker',
          url: 'https://checker.example/',
          timeout: 2,
          failure_policy: 'fail',
          hmac_secret_ref: 'company/hmac',
          tls_config: { insecure_skip_verify: false, ca_bundle_path: 'configmap:authorities/pem' },
        },
      ],
      token_exchange_config: {
        token_url: 'https://sts.example/token',
        client_id: 'me',
        client_secret: 'company/exchange',
        audience: 'api',
        external_token_header_name: 'X-Token',
        header_strategy: 'custom',
      },
      scaling_config: {
        backend_replicas: 2,
        session_redis: { address: 'redis:6379', db: 0, key_prefix: 'full:' },
      },
      publish: ['9001:9001'],
      allow_docker_gateway: true,
      env_file_dir: '/run/secrets',
      debug: true,
      ...RECORDED,
      middleware_configs: expect.any(Array),
    });
    expect(config.middleware_configs.map(({ type }) => type)).toEqual([
      'audit',
      'telemetry',
      'host_origin',
      'authentication',
      'rate_limiting',
      'tools',
      'authorization',
      'validating_webhooks',
      'outgoing_authentication',
      'header_forward',
    ]);
  });

  it('renders the authorization server, its provider, and the token exchange', async () => {
    const server = `${head('MCPExternalAuthConfig', 'own')}  type: embeddedAuthServer
  embeddedAuthServer:
    issuer: https://own.example
    headerStrategy: custom
    customHeaderName: X-Token
    signingKeySecretRefs: [{ name: keys, key: one }, { name: keys, key: two }]
    hmacSecretRefs: [{ name: keys, key: hmac }]
    storage:
      type: redis
      redis:
        sentinelConfig: { masterName: main, sentinelAddrs: ['s1:26379', 's2:26379'] }
        aclUserConfig: { passwordSecretRef: { name: keys, key: redis } }
    upstreamProviders:
      - name: github
        type: oauth2
        oauth2Config:
          authorizationEndpoint: https://github.example/authorize
          tokenEndpoint: https://github.example/token
          clientId: app
          clientSecretRef: { name: keys, key: github }
          userInfo: { endpointUrl: https://github.example/user, fieldMapping: { subjectFields: [id] } }
          tokenResponseMapping: { accessTokenPath: data.token }
`;
    const workload = `${head('MCPServer', 'one')}  remoteUrl: https://one.example/mcp
  externalAuthConfigRef: { name: own }
  oidcConfig: { type: inline, resourceUrl: 'https://own.example/mcp', inline: { issuer: https://own.example } }
`;
    const config = await of('one', { 'own.yaml': server, 'one.yaml': workload });
    expect(config.upstream_swap_config).toEqual({
      provider_name: 'github',
      header_strategy: 'custom',
      custom_header_name: 'X-Token',
    });
    expect(config.embedded_auth_server_config).toEqual({
      schema_version: 'v0.1.0',
      issuer: 'https://own.example',
      allowed_audiences: ['https://own.example/mcp'],
      scopes_supported: ['mcp', 'offline_access'],
      signing_key_config: { signing_key_file: 'keys/one', fallback_key_files: ['keys/two'] },
      hmac_secret_files: ['keys/hmac'],
      token_lifespans: { access_token_lifespan: '1h', refresh_token_lifespan: '168h', auth_code_lifespan: '10m' },
      upstreams: [
        {
          name: 'github',
          type: 'oauth2',
          oauth2_config: {
            client_id: 'app',
            client_secret_env_var: 'keys/github',
            authorization_endpoint: 'https://github.example/authorize',
            token_endpoint: 'https://github.example/token',
            userinfo: {
              endpoint_url: 'https://github.example/user',
              http_method: 'GET',
              field_mapping: { subject_fields: ['id'] },
            },
            token_response_mapping: { access_token_path: 'data.token' },
          },
        },
      ],
      storage: {
        type: 'redis',
        redis_config: expect.objectContaining({
          auth_type: 'acl',
          acl_user_config: { password_env_var: 'keys/redis' },
          sentinel_config: { master_name: 'main', sentinel_addrs: ['s1:26379', 's2:26379'], db: 0 },
        }),
      },
    });
    expect([config.remote_url, config.image, config.target_host, config.container_name]).toEqual([
      'https://one.example/mcp',
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('renders the roles of AWS, and the login at a remote server', async () => {
    const aws = `${head('MCPExternalAuthConfig', 'aws')}  type: awsSts
  awsSts:
    region: eu-central-1
    roleMappings: [{ claim: admins, priority: 1, roleArn: 'arn:aws:iam::1:role/admin' }]
    fallbackRoleArn: arn:aws:iam::1:role/all
    sessionDuration: 900
`;
    const signed = `${head('MCPServer', 'signed')}  remoteUrl: https://aws.example/mcp\n  externalAuthConfigRef: { name: aws }\n`;
    const remote = `${head('MCPServer', 'remote')}  remoteUrl: https://tickets.example/mcp
  remoteAuth: { issuer: https://id.example, clientId: me, clientSecretRef: { name: company, key: c }, scopes: [a], timeout: 2m }
`;
    const manifests = { 'aws.yaml': aws, 'signed.yaml': signed, 'remote.yaml': remote };
    expect((await of('signed', manifests)).aws_sts_config).toEqual({
      region: 'eu-central-1',
      role_mappings: [{ claim: 'admins', priority: 1, role_arn: 'arn:aws:iam::1:role/admin' }],
      fallback_role_arn: 'arn:aws:iam::1:role/all',
      session_duration: 900,
    });
    const { remote_auth_config, middleware_configs } = RunConfiguration.parse(
      await fixture.services().runConfigurations.render('remote'),
    );
    expect(remote_auth_config).toEqual({
      issuer: 'https://id.example',
      client_id: 'me',
      client_secret: 'company/c',
      scopes: ['a'],
      use_pkce: true,
      timeout: '2m',
      cached_refresh_token_ref: expect.stringMatching(/^remote-[0-9a-f]{32}$/),
    });
    expect(middleware_configs).toContainEqual({ type: 'outgoing_authentication', parameters: { type: 'remoteAuth' } });
  });

  describe('with an issuer in a ConfigMap', () => {
    const workload = `${head('MCPServer', 'one')}  remoteUrl: https://one.example/mcp
  oidcConfig: { type: configMap, resourceUrl: 'https://one.example/mcp', configMap: { name: issuer, key: said } }
`;
    const oidcOf = async (said: unknown) => {
      const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'issuer' } };
      const block = typeof said === 'string' ? said : JSON.stringify(said);
      const text = JSON.stringify({ ...map, data: { said: block, 'oidc.json': 'another' } });
      return (await of('one', { 'issuer.yaml': text, 'one.yaml': workload })).oidc_config;
    };

    it('renders the content of the ConfigMap', async () => {
      const said = { issuer: 'https://id.example', audience: 'one', clientId: 'me', scopes: ['read'] };
      expect(await oidcOf({ ...said, jwksUrl: 'https://id.example/keys' })).toEqual({
        issuer: 'https://id.example',
        audience: 'one',
        clientID: 'me',
        scopes: ['read'],
        jwksurl: 'https://id.example/keys',
        resourceURL: 'https://one.example/mcp',
        insecureAllowHTTP: false,
      });
    });

    it.each([
      ['is not valid', { issuer: 7 }],
      ['is neither YAML nor JSON', '{ not: [closed'],
      ['is reached without TLS', { issuer: 'http://id.example' }],
      [
        'refers to a Secret',
        { issuer: 'https://id.example', clientId: 'me', clientSecretRef: { name: 'a', key: 'b' } },
      ],
      ['refers to another ConfigMap', { issuer: 'https://id.example', caBundleRef: { name: 'a' } }],
    ])('omits inactive values, because the block %s', async (_why, said) => {
      expect(await oidcOf(said)).toEqual({ resourceURL: 'https://one.example/mcp' });
    });
  });

  it('renders a workload whose references cannot be resolved', async () => {
    const config = await of('full', { 'full.yaml': FULL });
    expect(config.token_exchange_config).toBeUndefined();
    expect(config.oidc_config).toEqual(expect.objectContaining({ audience: 'full' }));
  });

  it('renders the arguments of a command, without the program', async () => {
    const program = `apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: { name: local }
spec: { command: [node, server.js], args: [--fast] }
`;
    expect((await of('local', { 'local.yaml': program })).cmd_args).toEqual(['server.js', '--fast']);
  });
});
