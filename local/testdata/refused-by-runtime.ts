import { authServer, manifest, type ManifestCase, openServer, server } from './manifest-case.ts';

const oidc = (config: string) => server(`incomingAuth:\n  type: oidc\n  oidcConfig: ${config}`);
const inline = (fields: string) => oidc(`{ type: inline, inline: { issuer: 'https://i.example', ${fields} } }`);
const accounts = (fields: string) => oidc(`{ type: kubernetes, kubernetes: { ${fields} } }`);
const PLAIN = 'http is allowed on loopback only; write an https URL, or set insecureAllowHTTP to true';
const PROVIDER =
  'an http URL of a provider is allowed on loopback only; write https URLs, or set insecureAllowHTTP to true';
const NOT_CALLED =
  'is never called for service accounts; remove it, or write the issuer under inline, with clientId, clientSecretRef and introspectionUrl';
const NO_KEYS =
  'false, so no key set is supplied; write jwksUrl, an issuer outside of the cluster, or useClusterAuth: true';
const info = "{ endpointUrl: 'http://idp.example/me' }";
const provider = (fields: string) =>
  authServer(`issuer: https://mcp.example.com\nupstreamProviders:\n  - { name: idp, ${fields} }`);

/** Well-formed values that the runtime cannot use; vmcp rejects them before they reach it. */
export const REFUSED_BY_RUNTIME: ManifestCase[] = [
  ...['10.0.0.0/99', '10.0.0.256/8', 'fd00::/129', 'a::b::c/8'].map((range) => ({
    of: `the address range ${range}`,
    text: openServer(`trustedProxies: ['${range}']`),
    problems: ['8 spec.trustedProxies[0]: not an address range; write for example 10.0.0.0/8'],
  })),
  ...['redis.example:99999', 'redis.example:0', 'a:b:c'].map((address) => ({
    of: `the Redis address ${address}`,
    text: openServer(`sessionStorage: { provider: redis, address: '${address}' }`),
    problems: ['8 spec.sessionStorage.address: not an address; write host:port'],
  })),
  {
    of: 'an audit log whose path has a NUL character',
    text: openServer('audit: { enabled: true, logFile: "/tmp/a\\0b" }'),
    problems: ['8 spec.audit.logFile: no path has a NUL character; remove it'],
  },
  {
    of: 'an audit log without a path',
    text: openServer('audit: { enabled: true, logFile: "" }'),
    problems: ['8 spec.audit.logFile: is empty; write a value'],
  },
  {
    of: 'a Sentinel of an impossible port',
    text: openServer(
      "sessionStorage: { provider: redis, redis: { sentinelConfig: { masterName: m, sentinelAddrs: ['s:70000'] } } }",
    ),
    problems: ['8 spec.sessionStorage.redis.sentinelConfig.sentinelAddrs[0]: not an address; write host:port'],
  },
  {
    of: 'a user-info endpoint over http',
    text: provider(
      `type: oidc, oidcConfig: { issuerUrl: 'https://i.example', clientId: a, userInfoOverride: ${info} }`,
    ),
    problems: [`16 spec.authServerConfig.upstreamProviders[0].oidcConfig.userInfoOverride.endpointUrl: ${PROVIDER}`],
  },
  {
    of: 'a user-info endpoint of an oauth2 provider over http',
    text: provider(
      `type: oauth2, oauth2Config: { authorizationEndpoint: 'https://i.example/a', tokenEndpoint: 'https://i.example/t', clientId: a, userInfo: ${info} }`,
    ),
    problems: [`16 spec.authServerConfig.upstreamProviders[0].oauth2Config.userInfo.endpointUrl: ${PROVIDER}`],
  },
  {
    of: 'a key set over http',
    text: inline("jwksUrl: 'http://i.example/keys'"),
    problems: [`9 spec.incomingAuth.oidcConfig.inline.jwksUrl: ${PLAIN}`],
  },
  {
    of: 'an introspection endpoint over http',
    text: inline("clientId: a, clientSecretRef: { name: a, key: b }, introspectionUrl: 'http://i.example/i'"),
    problems: [`9 spec.incomingAuth.oidcConfig.inline.introspectionUrl: ${PLAIN}`],
  },
  {
    of: 'an introspection endpoint without client secret',
    text: inline("introspectionUrl: 'https://i.example/i'"),
    problems: [
      '9 spec.incomingAuth.oidcConfig.inline.introspectionUrl: needs clientSecretRef; write it, or remove introspectionUrl',
    ],
  },
  {
    of: 'introspection of service accounts',
    text: accounts("introspectionUrl: 'https://i.example/i'"),
    problems: [`9 spec.incomingAuth.oidcConfig.kubernetes.introspectionUrl: ${NOT_CALLED}`],
  },
  {
    of: 'introspection of shared service accounts',
    text: manifest(
      'MCPOIDCConfig',
      "type: kubernetesServiceAccount\nkubernetesServiceAccount: { introspectionUrl: 'https://i.example/i' }",
    ),
    problems: [`7 spec.kubernetesServiceAccount.introspectionUrl: ${NOT_CALLED}`],
  },
  {
    of: 'a key set of a shared issuer over http',
    text: manifest(
      'MCPOIDCConfig',
      "type: inline\ninline: { issuer: 'https://i.example', jwksUrl: 'http://i.example/k' }",
    ),
    problems: [`7 spec.inline.jwksUrl: ${PLAIN}`],
  },
  ...['useClusterAuth: false', "useClusterAuth: false, issuer: 'https://kubernetes.default.svc'"].map((fields) => ({
    of: `service accounts without a key set: ${fields}`,
    text: accounts(fields),
    problems: [`9 spec.incomingAuth.oidcConfig.kubernetes.useClusterAuth: ${NO_KEYS}`],
  })),
];
