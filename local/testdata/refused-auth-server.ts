import { authServer, type ManifestCase, openServer, server } from './manifest-case.ts';

const okta = "{ name: okta, type: oidc, oidcConfig: { issuerUrl: 'https://okta.example', clientId: a } }";
const oidc = (rest: string) => server(`incomingAuth:\n  type: oidc\n${rest.trim().replaceAll(/^/gm, '  ')}`);
const auth = (fields: string) =>
  authServer(`issuer: https://mcp.example.com\nupstreamProviders: [${okta}]\n${fields.trim()}`);

/** Invalid settings of the authorization server. */
export const REFUSED_AUTH_SERVER: ManifestCase[] = [
  {
    of: 'another issuer than boundary 1',
    text: authServer(`issuer: https://other.example.com\nupstreamProviders: [${okta}]`),
    problems: [
      '12 spec.incomingAuth.oidcConfig.inline.issuer: differs from authServerConfig.issuer; write the same text at both places, byte for byte',
    ],
  },
  {
    of: 'another issuer by a slash',
    text: authServer(`issuer: https://mcp.example.com/\nupstreamProviders: [${okta}]`),
    problems: [
      '12 spec.incomingAuth.oidcConfig.inline.issuer: differs from authServerConfig.issuer; write the same text at both places, byte for byte',
    ],
  },
  {
    of: 'an authorization server behind an open door',
    text: openServer(`authServerConfig:\n  issuer: https://a.example\n  upstreamProviders: [${okta}]`),
    problems: [
      '7 spec.incomingAuth.type: authServerConfig issues tokens that nobody would check; write type: oidc with the same issuer (inline, configMap or oidcConfigRef), or remove authServerConfig',
    ],
  },
  {
    of: 'an authorization server with service accounts',
    text: oidc('oidcConfig: { type: kubernetes }').concat(
      `  authServerConfig:\n    issuer: https://a.example\n    upstreamProviders: [${okta}]\n`,
    ),
    problems: [
      '8 spec.incomingAuth.type: authServerConfig issues tokens that nobody would check; write type: oidc with the same issuer (inline, configMap or oidcConfigRef), or remove authServerConfig',
    ],
  },
  {
    of: 'an audience that is not the endpoint',
    text: oidc(
      "resourceUrl: https://a.example/mcp\noidcConfig: { type: inline, inline: { issuer: 'https://a.example', audience: other } }",
    ).concat(`  authServerConfig:\n    issuer: https://a.example\n    upstreamProviders: [${okta}]\n`),
    problems: [
      '10 spec.incomingAuth.oidcConfig.inline.audience: differs from resourceUrl, which is the audience of what authServerConfig issues; write the same URL, or remove audience',
    ],
  },
  {
    of: 'no providers',
    text: authServer('issuer: https://mcp.example.com\nupstreamProviders: []'),
    problems: ['15 spec.authServerConfig.upstreamProviders: is empty; write at least one entry'],
  },
  {
    of: 'two providers of one name',
    text: authServer(`issuer: https://mcp.example.com\nupstreamProviders:\n  - ${okta}\n  - ${okta}`),
    problems: [
      '17 spec.authServerConfig.upstreamProviders[1].name: the same name as entry [0]; give each entry its own',
    ],
  },
  {
    of: 'a provider name of 64 characters',
    text: authServer(
      `issuer: https://mcp.example.com\nupstreamProviders:\n  - ${okta.replace('okta', 'a'.repeat(64))}`,
    ),
    problems: ['16 spec.authServerConfig.upstreamProviders[0].name: longer than 63 characters; shorten it'],
  },
  {
    of: 'a provider with the block of the other type',
    text: authServer(
      "issuer: https://mcp.example.com\nupstreamProviders:\n  - { name: a, type: oauth2, oidcConfig: { issuerUrl: 'https://a.example', clientId: a } }",
    ),
    problems: [
      '16 spec.authServerConfig.upstreamProviders[0].type: type oauth2 needs the block oauth2Config; write oauth2Config, or change type',
      '16 spec.authServerConfig.upstreamProviders[0].oidcConfig: belongs to type oidc only; change type, or remove oidcConfig',
    ],
  },
  {
    of: 'a primary that is no provider',
    text: auth('primaryUpstreamProvider: github'),
    problems: [
      '16 spec.authServerConfig.primaryUpstreamProvider: the primary provider must be an entry of upstreamProviders with required: true; name one that is',
    ],
  },
  {
    of: 'no required provider',
    text: authServer(
      `issuer: https://mcp.example.com\nupstreamProviders:\n  - ${okta.replace('name: okta', 'name: okta, required: false')}`,
    ),
    problems: [
      '13 spec.authServerConfig.primaryUpstreamProvider: the primary provider must be an entry of upstreamProviders with required: true; name one that is',
    ],
  },
  {
    of: 'an http provider',
    text: authServer(
      "issuer: https://mcp.example.com\nupstreamProviders:\n  - { name: a, type: oidc, oidcConfig: { issuerUrl: 'http://a.example', clientId: a } }",
    ),
    problems: [
      '16 spec.authServerConfig.upstreamProviders[0].oidcConfig.issuerUrl: an http URL of a provider is allowed on loopback only; write https URLs, or set insecureAllowHTTP to true',
    ],
  },
  {
    of: 'two http URLs of the second provider',
    text: authServer(
      "issuer: https://mcp.example.com\nupstreamProviders:\n  - { name: a, type: oidc, oidcConfig: { issuerUrl: 'https://a.example', clientId: a } }\n  - name: b\n    type: oauth2\n    oauth2Config:\n      authorizationEndpoint: https://b.example/a\n      tokenEndpoint: http://b.example/t\n      clientId: b\n      userInfo: { endpointUrl: 'http://b.example/me' }",
    ),
    problems: [
      '21 spec.authServerConfig.upstreamProviders[1].oauth2Config.tokenEndpoint: an http URL of a provider is allowed on loopback only; write https URLs, or set insecureAllowHTTP to true',
      '23 spec.authServerConfig.upstreamProviders[1].oauth2Config.userInfo.endpointUrl: an http URL of a provider is allowed on loopback only; write https URLs, or set insecureAllowHTTP to true',
    ],
  },
  {
    of: 'an http base for the authorization endpoint',
    text: auth('authorizationEndpointBaseUrl: http://login.example.com'),
    problems: [
      '16 spec.authServerConfig.authorizationEndpointBaseUrl: http is allowed on loopback only; write an https URL, or set insecureAllowHTTP to true',
    ],
  },
  {
    of: 'an access token of two days',
    text: auth('tokenLifespans: { accessTokenLifespan: 2d }'),
    problems: [
      '16 spec.authServerConfig.tokenLifespans.accessTokenLifespan: out of range; write a duration from 1m to 24h',
    ],
  },
  {
    of: 'an access token of ten seconds',
    text: auth('tokenLifespans: { accessTokenLifespan: 10s }'),
    problems: [
      '16 spec.authServerConfig.tokenLifespans.accessTokenLifespan: out of range; write a duration from 1m to 24h',
    ],
  },
  {
    of: 'a refresh token of 31 days',
    text: auth('tokenLifespans: { refreshTokenLifespan: 744h }'),
    problems: [
      '16 spec.authServerConfig.tokenLifespans.refreshTokenLifespan: out of range; write a duration from 1h to 30d',
    ],
  },
  {
    of: 'a code of an hour',
    text: auth('tokenLifespans: { authCodeLifespan: 1h }'),
    problems: [
      '16 spec.authServerConfig.tokenLifespans.authCodeLifespan: out of range; write a duration from 30s to 10m',
    ],
  },
  {
    of: 'a duration without unit',
    text: auth('tokenLifespans: { accessTokenLifespan: "3600" }'),
    problems: [
      '16 spec.authServerConfig.tokenLifespans.accessTokenLifespan: not a duration; write digits and a unit, for example 30s, 5m, 1h30m or 7d',
    ],
  },
  {
    of: 'a duration as a number',
    text: auth('tokenLifespans: { accessTokenLifespan: 3600 }'),
    problems: [
      '16 spec.authServerConfig.tokenLifespans.accessTokenLifespan: is a number, not a string; write a string, in quotes',
    ],
  },
  {
    of: 'Redis without its block',
    text: auth('storage: { type: redis }'),
    problems: ['16 spec.authServerConfig.storage.type: type redis needs the block redis; write redis, or change type'],
  },
  {
    of: 'Redis at two places',
    text: auth(
      "storage: { type: redis, redis: { addr: 'a:1', sentinelConfig: { masterName: m, sentinelAddrs: ['s:1'] } } }",
    ),
    problems: [
      '16 spec.authServerConfig.storage.redis: needs exactly one of sentinelConfig and addr; write one of them and remove the others',
    ],
  },
  {
    of: 'Redis at no place',
    text: auth('storage: { type: redis, redis: { keyPrefix: a } }'),
    problems: [
      '16 spec.authServerConfig.storage.redis: needs exactly one of sentinelConfig and addr; write one of them and remove the others',
    ],
  },
  {
    of: 'TLS of Sentinels that are not there',
    text: auth("storage: { type: redis, redis: { addr: 'a:1', sentinelTls: {} } }"),
    problems: [
      '16 spec.authServerConfig.storage.redis.sentinelTls: needs sentinelConfig; write it, or remove sentinelTls',
    ],
  },
  {
    of: 'a dot path with an empty step',
    text: authServer(
      "issuer: https://mcp.example.com\nupstreamProviders:\n  - { name: a, type: oauth2, oauth2Config: { authorizationEndpoint: 'https://a.example', tokenEndpoint: 'https://a.example', clientId: a, identityFromToken: { subjectPath: a..b } } }",
    ),
    problems: [
      '16 spec.authServerConfig.upstreamProviders[0].oauth2Config.identityFromToken.subjectPath: not a dot-notation path; write for example data.access_token',
    ],
  },
  {
    of: 'clients with reserved ids, or without what they need',
    text: auth(
      `clients:
  - { clientId: anonymous, redirectUris: ['https://a.example/cb'] }
  - { clientId: ${'a'.repeat(43)}, redirectUris: ['https://a.example/cb'] }
  - { clientId: c, grants: [client_credentials] }
  - { clientId: d }
  - { clientId: e, redirectUris: ['http://127.0.0.1/cb'], consent: implicit }
  - { clientId: f, redirectUris: ['my-app://cb'], consent: implicit }
  - { clientId: g, redirectUris: ['https://localhost/cb'], consent: implicit }
  - { clientId: h, redirectUris: ['http://h.example/cb'] }
  - { clientId: i, redirectUris: ['https://i.example/cb'], verified: true }
  - { clientId: j, redirectUris: ['https://j.example/cb'], scopes: [root] }
  - { clientId: k, redirectUris: ['https://k.example/cb'], jwksUrl: 'http://k.example/jwks' }
  - { clientId: l, redirectUris: ['https://l.example/cb'], jwks: '{"keys":[{"kty":"OKP","d":"x"}]}' }
  - { clientId: m, redirectUris: ['https://m.example/cb'], jwks: '{"keys":[{"kty":"OKP"}]}', jwksUrl: 'https://m.example' }
  - { clientId: m, redirectUris: ['https://m.example/cb'] }
  - { clientId: n, redirectUris: ['https://n.example/cb'], caBundleRef: { name: ca, key: ca.pem } }`,
    ),
    problems: [
      '17 spec.authServerConfig.clients[0].clientId: reserved: policies name users and anonymous callers by such ids; write another id',
      '18 spec.authServerConfig.clients[1].clientId: reserved: policies name users and anonymous callers by such ids; write another id',
      '19 spec.authServerConfig.clients[2].grants: client_credentials needs clientSecretRef, jwks or jwksUrl: a public client has nothing to prove itself with',
      '20 spec.authServerConfig.clients[3].redirectUris: belongs to the grant authorization_code, which needs it; write both or neither',
      '21 spec.authServerConfig.clients[4].consent: implicit needs https redirect URIs that are not on loopback, as any program of the machine can take the place of others; write required',
      '22 spec.authServerConfig.clients[5].consent: implicit needs https redirect URIs that are not on loopback, as any program of the machine can take the place of others; write required',
      '23 spec.authServerConfig.clients[6].consent: implicit needs https redirect URIs that are not on loopback, as any program of the machine can take the place of others; write required',
      '24 spec.authServerConfig.clients[7].redirectUris[0]: not a redirect URI: plain http is for 127.0.0.1, [::1] and localhost only; use https; write an https URL, an http URL on loopback, or a URI with a scheme of the application',
      '25 spec.authServerConfig.clients[8].verified: needs displayName, which it vouches for; write displayName',
      '28 spec.authServerConfig.clients[11].jwks: not a JSON Web Key Set with public keys only; write {"keys": […]} without private members such as d',
      '29 spec.authServerConfig.clients[12]: needs at most one of clientSecretRef, jwks and jwksUrl; keep one',
      '31 spec.authServerConfig.clients[14].caBundleRef: needs jwksUrl; write it, or remove caBundleRef',
      '30 spec.authServerConfig.clients[13].clientId: the same clientId as entry [12]; give each entry its own',
      '27 spec.authServerConfig.clients[10].jwksUrl: the keys of a client are read by http on loopback only; write an https URL, or set insecureAllowHTTP to true',
      '26 spec.authServerConfig.clients[9].scopes[0]: a client has a scope that is not in scopesSupported; write it there, or remove it here',
    ],
  },
  {
    of: 'issuers of assertions with ambiguous, unreadable or insecure clients',
    text: auth(
      `identityAssertions:
  - { issuer: 'https://a.example', jwksUrl: 'http://a.example/keys', clients: [{ clientId: a, clientSecretRef: { name: s, key: k }, jwksUrl: 'https://x.example' }] }
  - { issuer: 'https://b.example', jwksUrl: 'https://b.example/keys', clients: [{ clientId: a, clientSecretRef: { name: s, key: k } }, { clientId: 'https://c.example/c' }] }
  - { issuer: 'https://c.example', jwksUrl: 'https://c.example/keys', scopes: [root], clients: [{ clientId: c, jwksUrl: 'http://c.example/jwks' }] }
  - { issuer: 'https://d.example', jwksUrl: 'https://d.example/keys', maxLifetime: 2h, clients: [{ clientId: d }] }`,
    ),
    problems: [
      '17 spec.authServerConfig.identityAssertions[0].clients[0].jwksUrl: not allowed beside clientSecretRef; keep one of clientSecretRef and jwksUrl',
      '20 spec.authServerConfig.identityAssertions[3].maxLifetime: out of range; write a duration from 1m to 1h',
      '17 spec.authServerConfig.identityAssertions[0].jwksUrl: these keys are read by http on loopback only; write an https URL, or set insecureAllowHTTP to true',
      '19 spec.authServerConfig.identityAssertions[2].clients[0].jwksUrl: these keys are read by http on loopback only; write an https URL, or set insecureAllowHTTP to true',
      '19 spec.authServerConfig.identityAssertions[2].scopes[0]: a scope is not in scopesSupported; write it there, or remove it here',
      '18 spec.authServerConfig.identityAssertions[1].clients[0]: the client has its credential in another entry already; remove it here',
      '18 spec.authServerConfig.identityAssertions[1].clients[1]: the client is public and its id is the URL of a metadata document, which is not read; set cimd.enabled to true, or write its clientSecretRef or jwksUrl',
    ],
  },
  {
    of: 'an issuer of assertions with a client that has no id',
    text: auth(
      "identityAssertions:\n  - { issuer: 'https://a.example', jwksUrl: 'https://a.example/keys', clients: [{ clientId: 'a b' }] }",
    ),
    problems: [
      '17 spec.authServerConfig.identityAssertions[0].clients[0].clientId: not a client id; write letters, digits, dots, hyphens, underscores and tildes, or an https URL',
    ],
  },
  {
    of: 'a client with an id that HTTP Basic cannot carry',
    text: auth("clients:\n  - { clientId: 'a:b', redirectUris: ['https://a.example/cb'] }"),
    problems: [
      '17 spec.authServerConfig.clients[0].clientId: not a client id; write letters, digits, dots, hyphens, underscores and tildes',
    ],
  },
  {
    of: 'the same introspection client twice',
    text: auth(
      'introspectionClients:\n  - { clientId: a, clientSecretRef: { name: a, key: b } }\n  - { clientId: a, clientSecretRef: { name: a, key: c } }',
    ),
    problems: [
      '18 spec.authServerConfig.introspectionClients[1].clientId: the same clientId as entry [0]; give each entry its own',
    ],
  },
];
