import { describe, expect, it } from '@jest/globals';
import { pathText } from '#crds/parts/explain';
import { concernsAll, findProblems } from '#crds/run-config/find-problems';
import { RunConfig, type RunConfigDocument } from '#crds/run-config/run-config';

const smallest: RunConfigDocument = {
  schema_version: 'v0.1.0',
  server: { namespace: 'default', name: 'demo', uid: 'a' },
  incoming: { type: 'anonymous' },
  backends: [],
};

type Auth = NonNullable<RunConfigDocument['backends'][number]['auth']>;
type AuthServer = NonNullable<RunConfigDocument['embedded_auth_server_config']>;
type Upstream = AuthServer['upstreams'][number];

const backend = (settings: object): Partial<RunConfigDocument> => ({
  backends: [{ transport: 'streamable-http', name: 'files', url: 'http://127.0.0.1:1/mcp', ...settings }],
});
const auth = (document: Auth) => backend({ auth: document });
const exchange = (settings: object) =>
  auth({ type: 'token_exchange', token_url: 'https://idp.example/t', ...settings });
const XAA = { idp_token_url: 'https://i.example/t', target_token_url: 'https://t.example/t', target_audience: 'a' };
const xaa = (settings: object) => auth({ type: 'xaa', subject_provider_name: 'idp', ...XAA, ...settings });
const client = (settings: object) =>
  auth({ type: 'client_credentials', token_url: 'https://idp.example/t', client_id: 'a', ...settings });
const oidc = (config: object): Upstream => ({
  type: 'oidc',
  name: 'idp',
  oidc_config: { client_id: 'a', issuer_url: 'https://idp.example', ...config },
});
const oauth2 = (config: object): Upstream => ({
  type: 'oauth2',
  name: 'idp',
  oauth2_config: {
    client_id: 'a',
    authorization_endpoint: 'https://i.example/a',
    token_endpoint: 'https://i.example/t',
    ...config,
  },
});
const upstreams = (list: Upstream[], config: Partial<AuthServer> = {}): Partial<RunConfigDocument> => ({
  embedded_auth_server_config: { issuer: 'https://mcp.example', upstreams: list, ...config },
});
const issuer = (config: object): Partial<RunConfigDocument> => ({
  incoming: { type: 'oidc', issuer: 'https://idp.example', ...config },
});
const tracing = (settings: object): Partial<RunConfigDocument> => ({
  telemetry_config: { tracingEnabled: true, endpoint: 'https://otlp.example', ...settings },
});

function problemsOf(document: Partial<RunConfigDocument>) {
  return findProblems(RunConfig.parse({ ...smallest, ...document }));
}

const found = (document: Partial<RunConfigDocument>) =>
  problemsOf(document).map(({ path, message }) => `${pathText(path)}: ${message}`);

const FAR = 'http://idp.example/x';
const PLAIN = 'plain http off this machine; write an https URL, or set insecure_allow_http';
const URL_FORM = 'not an http or https URL without user name and password; write for example https://host.example/path';

describe('findProblems', () => {
  it.each<[string, Partial<RunConfigDocument>]>([
    ['the smallest document', {}],
    ['xaa', { ...upstreams([oidc({})]), ...xaa({}) }],
    ['client credentials', client({ private_key_file: 'k' })],
    ['a token exchange', exchange({ client_id: 'a', client_secret_file: 's' })],
    ['a provider', upstreams([oidc({}), { ...oauth2({}), name: 'other' }])],
    [
      'a provider over http where that is allowed',
      upstreams([oidc({ issuer_url: FAR })], { insecure_allow_http: true }),
    ],
    ['a provider over http on loopback', upstreams([oidc({ issuer_url: 'http://127.0.0.1:1' })])],
    [
      'keys at a private address where that is allowed',
      issuer({ jwks_url: 'https://10.0.0.7/k', jwks_allow_private_ip: true }),
    ],
    [
      'introspection alone at a private address where that is allowed',
      issuer({ introspection_url: 'https://10.0.0.7/i', protected_resource_allow_private_ip: true }),
    ],
    [
      'an issuer at a private address that nothing calls',
      { incoming: { type: 'oidc', issuer: 'https://10.0.0.7', jwks: { keys: [] } } },
    ],
    ['an issuer over http where that is allowed', issuer({ jwks_url: FAR, insecure_allow_http: true })],
    ['spans that are not sent', tracing({ tracingEnabled: false, endpoint: 'ftp://a' })],
  ])('accepts %s', (_case, document) => {
    expect(found(document)).toEqual([]);
  });

  it('accepts an insecure target of xaa only where that is allowed', () => {
    const at = (insecure: boolean) => xaa({ target_token_url: FAR, insecure_target_token_url: insecure });
    const counts = [true, false].map((insecure) => found({ ...upstreams([oidc({})]), ...at(insecure) }).length);
    expect(counts).toEqual([0, 1]);
  });

  it.each<[string, Partial<RunConfigDocument>, string[]]>([
    [
      'a header of the protocol',
      auth({ type: 'header_injection', header_name: 'Content-Length', value_file: '/s' }),
      [
        'backends[0].auth.header_name: "Content-Length" is a header of the protocol; write another name, such as X-Api-Key',
      ],
    ],
    ['another scheme of a token URL', exchange({ token_url: 'ftp://x/' }), [`backends[0].auth.token_url: ${URL_FORM}`]],
    [
      'credentials in a token URL',
      exchange({ token_url: 'https://u:p@x/' }),
      [`backends[0].auth.token_url: ${URL_FORM}`],
    ],
    [
      'a client secret without client',
      exchange({ client_secret_file: 's' }),
      ['backends[0].auth.client_secret_file: needs client_id; write it, or remove client_secret_file'],
    ],
    [
      'xaa over http, with secrets without clients, and without authorization server',
      xaa({ idp_token_url: FAR, target_token_url: FAR, idp_client_secret_file: 's', target_client_secret_file: 's' }),
      [
        'backends[0].auth.idp_token_url: http is allowed on loopback only; write an https URL',
        'backends[0].auth.target_token_url: http is allowed on loopback only; write an https URL, or set insecure_target_token_url to true',
        'backends[0].auth.idp_client_secret_file: needs idp_client_id; write it, or remove idp_client_secret_file',
        'backends[0].auth.target_client_secret_file: needs target_client_id; write it, or remove target_client_secret_file',
        'backends[0].auth.subject_provider_name: needs the stored tokens of provider idp, and there is no embedded authorization server; add it',
      ],
    ],
    [
      'xaa at URLs of other forms',
      { ...upstreams([oidc({})]), ...xaa({ idp_token_url: 'ftp://x/', target_token_url: 'https://u:p@x/' }) },
      [`backends[0].auth.idp_token_url: ${URL_FORM}`, `backends[0].auth.target_token_url: ${URL_FORM}`],
    ],
    [
      'client credentials without secret and key',
      client({ token_url: 'ftp://x/' }),
      [
        `backends[0].auth.token_url: ${URL_FORM}`,
        'backends[0].auth: needs one of client_secret_file and private_key_file; write one, remove the other',
      ],
    ],
    [
      'a token in a header of the protocol',
      exchange({ external_token_header_name: 'Mcp-Session-Id' }),
      [
        'backends[0].auth.external_token_header_name: "Mcp-Session-Id" is a header of the protocol; write another name, such as X-Api-Key',
      ],
    ],
    [
      'stored tokens without authorization server',
      auth({ type: 'upstream_inject', provider_name: 'github' }),
      [
        'backends[0].auth.provider_name: needs the stored tokens of provider github, and there is no embedded authorization server; add it',
      ],
    ],
    [
      'stored tokens of an unknown provider',
      { ...upstreams([oidc({})]), ...exchange({ subject_provider_name: 'github' }) },
      ['backends[0].auth.subject_provider_name: "github" is no upstream provider; write one of idp'],
    ],
    [
      'a custom header without name',
      {
        ...upstreams([oidc({})]),
        ...auth({ type: 'upstream_inject', provider_name: 'idp', header_strategy: 'custom' }),
      },
      ['backends[0].auth.custom_header_name: is missing; header_strategy custom needs custom_header_name'],
    ],
    [
      'a region of AWS that is none',
      auth({ type: 'aws_sts', region: 'eu.example.com/' }),
      ['backends[0].auth.region: not an AWS region; write one such as eu-central-1'],
    ],
    [
      'an expression as matcher',
      auth({ type: 'aws_sts', region: 'eu-west-1', role_mappings: [{ matcher: '"a" in claims["g"]', role_arn: 'r' }] }),
      [
        'backends[0].auth.role_mappings[0].matcher: expressions are not evaluated; write the claim into claim and its value into matcher',
      ],
    ],
    [
      'signed requests to a process',
      {
        backends: [{ transport: 'stdio', name: 'files', command: 'a', auth: { type: 'aws_sts', region: 'eu-west-1' } }],
      },
      ['backends[0].auth.type: aws_sts signs HTTP requests; write another type for a backend of transport stdio'],
    ],
    [
      'texts that no process gets',
      {
        backends: [{ transport: 'stdio', name: 'files', command: 'a\0', args: ['b', 'c\0'], env: { D: '\0' } }],
      },
      ['command', 'args[1]', 'env.D'].map(
        (field) => `backends[0].${field}: has a NUL character, which no process gets; remove it`,
      ),
    ],
    [
      'a forwarded header with a line break',
      backend({ header_forward: { add_plaintext_headers: { 'x-a': 'a\nb' } } }),
      ['backends[0].header_forward.add_plaintext_headers.x-a: has control characters; remove line breaks and the like'],
    ],
    [
      'a webhook over another scheme',
      backend({ webhooks: [{ name: 'w', url: 'ftp://w.example' }] }),
      [`backends[0].webhooks[0].url: ${URL_FORM}`],
    ],
    ['a backend over another scheme', backend({ url: 'ftp://a.example' }), [`backends[0].url: ${URL_FORM}`]],
    [
      'a provider over http',
      upstreams([oidc({ issuer_url: FAR })]),
      [`embedded_auth_server_config.upstreams[0].oidc_config.issuer_url: ${PLAIN}`],
    ],
    [
      'endpoints of a provider over http',
      upstreams([oauth2({ authorization_endpoint: FAR, token_endpoint: FAR, userinfo: { endpoint_url: FAR } })]),
      ['authorization_endpoint', 'token_endpoint', 'userinfo.endpoint_url'].map(
        (field) => `embedded_auth_server_config.upstreams[0].oauth2_config.${field}: ${PLAIN}`,
      ),
    ],
    [
      'credentials in the URL of a provider',
      upstreams([oidc({ issuer_url: 'https://me:secret@idp.example' })]),
      [`embedded_auth_server_config.upstreams[0].oidc_config.issuer_url: ${URL_FORM}`],
    ],
    [
      'a user-info header with a line break',
      upstreams([
        oidc({ userinfo_override: { endpoint_url: 'https://i.example', additional_headers: { 'x-a': 'a\nb' } } }),
      ]),
      [
        'embedded_auth_server_config.upstreams[0].oidc_config.userinfo_override.additional_headers.x-a: cannot stand in a request; write a header name, and a value without line breaks',
      ],
    ],
    [
      'no provider that is required',
      upstreams([{ ...oidc({}), required: false }]),
      ['embedded_auth_server_config.upstreams: no provider says who a user is; set required of one of them'],
    ],
    [
      'an unknown primary provider',
      upstreams([oidc({})], { primary_upstream_provider: 'other' }),
      ['embedded_auth_server_config.primary_upstream_provider: "other" is no upstream provider; write the name of one'],
    ],
    [
      'two providers of one name',
      upstreams([oidc({}), oauth2({})]),
      ['embedded_auth_server_config.upstreams[1].name: "idp" is there twice; give each entry its own name'],
    ],
    [
      'a key set over http',
      issuer({ jwks_url: FAR }),
      ['incoming.jwks_url: http is called on loopback only; write an https URL'],
    ],
    [
      'a key set at a private address',
      issuer({ jwks_url: 'https://10.0.0.7/keys' }),
      ['incoming.jwks_url: 10.0.0.7 is a private address; set jwksAllowPrivateIP to allow it'],
    ],
    [
      'an issuer at a private address, where keys are found by discovery',
      { incoming: { type: 'oidc', issuer: 'https://[fd00::1]' } },
      ['incoming.issuer: fd00::1 is a private address; set jwksAllowPrivateIP to allow it'],
    ],
    [
      'introspection at a private address',
      issuer({ introspection_url: 'https://192.168.0.1/i' }),
      ['incoming.introspection_url: 192.168.0.1 is a private address; set jwksAllowPrivateIP to allow it'],
    ],
    [
      'a client secret of boundary 1 without client',
      issuer({ client_secret_file: 's' }),
      ['incoming.client_secret_file: needs incoming.client_id beside it; write client_id'],
    ],
    [
      'an embedded issuer without authorization server',
      issuer({ embedded: true }),
      ['incoming.embedded: needs an authorization server in this process; add embedded_auth_server_config'],
    ],
    [
      'stored sessions without a secret that seals them',
      { session_storage: { type: 'sqlite', file: '/s' } },
      ['sealing_secret_files: is empty, and stored sessions are sealed; name a file with a secret'],
    ],
    [
      'spans to no collector',
      tracing({ endpoint: 'ftp://a' }),
      ['telemetry_config.endpoint: has another scheme: write the https (or http) URL of OTLP/HTTP'],
    ],
    [
      'a header of the collector with a line break',
      tracing({ headers: { 'x-a': 'a\nb' } }),
      ['telemetry_config.headers.x-a: cannot stand in a request; write a header name, and a value without line breaks'],
    ],
    ['a resource over another scheme', { resource_url: 'ftp://a.example' }, [`resource_url: ${URL_FORM}`]],
  ])('rejects %s', (_case, document, problems) => {
    expect(found(document)).toEqual(problems);
  });
});

describe('concernsAll', () => {
  it.each<[string, Partial<RunConfigDocument>, boolean]>([
    ['a backend', backend({ url: 'ftp://a' }), false],
    ['a provider', upstreams([oidc({ issuer_url: FAR })]), false],
    ['the collector of spans', tracing({ endpoint: 'ftp://a' }), false],
    ['boundary 1', issuer({ jwks_url: FAR }), true],
    ['two providers of one name', upstreams([oidc({}), oidc({})]), true],
    ['two backends of one name', { backends: [...backend({}).backends!, ...backend({}).backends!] }, true],
    ['providers without a primary one', upstreams([{ ...oidc({}), required: false }]), true],
  ])('returns whether a problem of %s stops the whole runtime', (_case, document, expected) => {
    expect(problemsOf(document).map(concernsAll)).toEqual([expected]);
  });
});
