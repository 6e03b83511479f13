import { authServer, manifest, type ManifestCase, openServer, server } from './manifest-case.ts';

const okta = "{ name: okta, type: oidc, oidcConfig: { issuerUrl: 'https://okta.example', clientId: a } }";
const auth = (fields: string) =>
  authServer(`issuer: https://mcp.example.com\nupstreamProviders: [${okta}]\n${fields.trim()}`);
const external = (spec: string) => manifest('MCPExternalAuthConfig', spec);
const embedded = `embeddedAuthServer: { issuer: 'https://a.example', upstreamProviders: [${okta}] }`;

/** Manifests that break the remaining rules across fields, one rule each. */
export const REFUSED_RULES: ManifestCase[] = [
  {
    of: 'a deadline of two days',
    text: openServer('limits: { listDeadline: 25h }'),
    problems: ['8 spec.limits.listDeadline: out of range; write a duration from 1ms to 24h'],
  },
  {
    of: 'an interval of no time',
    text: openServer('').replace(
      '{ groupRef: team }',
      '{ groupRef: team, operational: { failureHandling: { healthCheckInterval: 0s } } }',
    ),
    problems: [
      '6 spec.config.operational.failureHandling.healthCheckInterval: out of range; write a duration from 1s to 24h',
    ],
  },
  {
    of: 'a session that ends at once',
    text: openServer('limits: { sessionIdle: 1s }'),
    problems: ['8 spec.limits.sessionIdle: out of range; write a duration from 10s to 7d'],
  },
  {
    of: 'an introspection remembered for minutes',
    text: openServer('limits: { introspectionCache: 5m }'),
    problems: ['8 spec.limits.introspectionCache: out of range; write a duration from 0s to 30s'],
  },
  {
    of: 'a login that may take a day',
    text: auth('limits: { pendingLoginLifespan: 24h }'),
    problems: ['16 spec.authServerConfig.limits.pendingLoginLifespan: out of range; write a duration from 1m to 1h'],
  },
  {
    of: 'a remote login that may take a day',
    text: manifest('MCPServer', 'remoteUrl: https://a.example\nremoteAuth: { timeout: 24h }'),
    problems: ['7 spec.remoteAuth.timeout: out of range; write a duration from 1s to 1h'],
  },
  {
    of: 'a database without address',
    text: openServer("sessionStorage: { provider: redis, db: 1, redis: { addr: 'a:1' } }"),
    problems: ['8 spec.sessionStorage.db: needs address; write it, or remove db'],
  },
  {
    of: 'a key prefix without address',
    text: openServer("sessionStorage: { provider: redis, keyPrefix: a, redis: { addr: 'a:1' } }"),
    problems: ['8 spec.sessionStorage.keyPrefix: needs address; write it, or remove keyPrefix'],
  },
  {
    of: 'a database beside that of Sentinels',
    text: openServer(
      "sessionStorage: { provider: redis, redis: { db: 1, sentinelConfig: { masterName: m, sentinelAddrs: ['s:1'] } } }",
    ),
    problems: ['8 spec.sessionStorage.redis.db: not allowed beside sentinelConfig; write db inside sentinelConfig'],
  },
  {
    of: 'Sentinels at two places',
    text: openServer(
      "sessionStorage: { provider: redis, redis: { sentinelConfig: { masterName: m, sentinelAddrs: ['s:1'], sentinelService: { name: s } } } }",
    ),
    problems: [
      '8 spec.sessionStorage.redis.sentinelConfig: needs exactly one of sentinelAddrs and sentinelService; write one of them and remove the others',
    ],
  },
  {
    of: 'an inline block of another type',
    text: server(
      "incomingAuth: { type: oidc, oidcConfig: { type: kubernetes, inline: { issuer: 'https://a.example' } } }",
    ),
    problems: ['7 spec.incomingAuth.oidcConfig.inline: belongs to type inline only; change type, or remove inline'],
  },
  {
    of: 'an OAuth block of an OIDC provider',
    text: authServer(
      "issuer: https://mcp.example.com\nupstreamProviders:\n  - { name: a, type: oidc, oauth2Config: { authorizationEndpoint: 'https://a.example', tokenEndpoint: 'https://a.example', clientId: a, userInfo: { endpointUrl: 'https://a.example' } } }",
    ),
    problems: [
      '16 spec.authServerConfig.upstreamProviders[0].oauth2Config: belongs to type oauth2 only; change type, or remove oauth2Config',
      '16 spec.authServerConfig.upstreamProviders[0].type: type oidc needs the block oidcConfig; write oidcConfig, or change type',
    ],
  },
  {
    of: 'a Redis that memory does not use',
    text: auth("storage: { type: memory, redis: { addr: 'a:1' } }"),
    problems: ['16 spec.authServerConfig.storage.redis: belongs to type redis only; change type, or remove redis'],
  },
  {
    of: 'a workload whose issuer is http',
    text: manifest('MCPServer', "image: a\noidcConfig: { type: inline, inline: { issuer: 'http://a.example' } }"),
    problems: [
      '7 spec.oidcConfig.inline.issuer: http is allowed on loopback only; write an https URL, or set oidcConfig.inline.insecureAllowHTTP to true',
    ],
  },
  {
    of: 'a key without client certificate',
    text: manifest(
      'MCPServer',
      "image: a\nwebhooks: { validating: [{ name: a, url: 'https://a.example', tls: { clientKeySecretRef: { name: a, key: b } } }] }",
    ),
    problems: [
      '7 spec.webhooks.validating[0].tls.clientKeySecretRef: needs clientCertSecretRef; write it, or remove clientKeySecretRef',
    ],
  },
  {
    of: 'the block of upstreamInject elsewhere',
    text: external('type: unauthenticated\nupstreamInject: { providerName: a }'),
    problems: ['7 spec.upstreamInject: belongs to type upstreamInject only; change type, or remove upstreamInject'],
  },
  {
    of: 'the block of tokenExchange elsewhere',
    text: external('type: unauthenticated\ntokenExchange: { tokenUrl: https://a.example }'),
    problems: ['7 spec.tokenExchange: belongs to type tokenExchange only; change type, or remove tokenExchange'],
  },
  {
    of: 'tokenExchange without block',
    text: external('type: tokenExchange'),
    problems: ['6 spec.type: type tokenExchange needs the block tokenExchange; write tokenExchange, or change type'],
  },
  {
    of: 'the block of headerInjection elsewhere',
    text: external('type: unauthenticated\nheaderInjection: { headerName: A, valueSecretRef: { name: a, key: b } }'),
    problems: ['7 spec.headerInjection: belongs to type headerInjection only; change type, or remove headerInjection'],
  },
  {
    of: 'headerInjection without block',
    text: external('type: headerInjection'),
    problems: [
      '6 spec.type: type headerInjection needs the block headerInjection; write headerInjection, or change type',
    ],
  },
  {
    of: 'bearerToken without block',
    text: external('type: bearerToken'),
    problems: ['6 spec.type: type bearerToken needs the block bearerToken; write bearerToken, or change type'],
  },
  {
    of: 'the block of awsSts elsewhere',
    text: external('type: unauthenticated\nawsSts: { region: a }'),
    problems: ['7 spec.awsSts: belongs to type awsSts only; change type, or remove awsSts'],
  },
  {
    of: 'awsSts without block',
    text: external('type: awsSts'),
    problems: ['6 spec.type: type awsSts needs the block awsSts; write awsSts, or change type'],
  },
  {
    of: 'the block of embeddedAuthServer elsewhere',
    text: external(`type: unauthenticated\n${embedded}`),
    problems: [
      '7 spec.embeddedAuthServer: belongs to type embeddedAuthServer only; change type, or remove embeddedAuthServer',
    ],
  },
  {
    of: 'embeddedAuthServer without block',
    text: external('type: embeddedAuthServer'),
    problems: [
      '6 spec.type: type embeddedAuthServer needs the block embeddedAuthServer; write embeddedAuthServer, or change type',
    ],
  },
  {
    of: 'service accounts in an inline issuer',
    text: manifest(
      'MCPOIDCConfig',
      "type: inline\ninline: { issuer: 'https://a.example' }\nkubernetesServiceAccount: {}",
    ),
    problems: [
      '8 spec.kubernetesServiceAccount: belongs to type kubernetesServiceAccount only; change type, or remove kubernetesServiceAccount',
    ],
  },
  {
    of: 'an inline issuer without block',
    text: manifest('MCPOIDCConfig', 'type: inline'),
    problems: ['6 spec.type: type inline needs the block inline; write inline, or change type'],
  },
];
