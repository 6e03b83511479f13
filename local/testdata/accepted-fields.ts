import { accepted, authServer, manifest, type ManifestCase, openServer, server } from './manifest-case.ts';

/** Fields that no other sample uses. */
export const ACCEPTED_FIELDS: ManifestCase[] = [
  accepted(
    'everything about audit and telemetry',
    openServer(`
audit:
  excludeEventTypes: [mcp_ping, management_delete_workloads]
  includeResponseData: true
  logFile: /var/log/vmcp/audit.log
telemetry:
  headersFromSecret: { x-key: { name: otel, key: header } }
  caBundleRef: { configMapRef: { name: company-ca, key: ca.crt } }
  serviceName: gate
  serviceVersion: '1'
  insecure: true
  enablePrometheusMetricsPath: false
  environmentVariables: [POD_NAME]
  customAttributes: { team: a }
  useLegacyAttributes: true
rateLimiting: { tools: [{ name: a, perUser: { maxTokens: 1, refillPeriod: 1s } }] }
resources: { claims: [{ name: gpu, request: one }] }
podDisruptionBudget: { maxUnavailable: 1 }
sessionStorage:
  provider: redis
  redis: { sentinelConfig: { masterName: m, sentinelAddrs: ['s:1'] }, sentinelTls: { caCertSecretRef: { name: a, key: b } } }
outgoingAuth:
  source: inline
  default: { type: externalAuthConfigRef, externalAuthConfigRef: { name: a } }`),
  ),
  accepted('a port of its own', openServer('listen: { port: 4600 }')),
  accepted(
    'Sentinels that are a Service',
    openServer(
      'sessionStorage: { provider: redis, redis: { sentinelConfig: { masterName: m, sentinelService: { name: s, namespace: redis, port: 26380 } } } }',
    ),
  ),
  accepted(
    'every hint of a tool',
    server('incomingAuth: { type: anonymous }').replace(
      '{ groupRef: team }',
      `
    groupRef: team
    aggregation:
      tools:
        - workload: a
          overrides: { b: { annotations: { destructiveHint: true, idempotentHint: false, openWorldHint: true } } }`,
    ),
  ),
  accepted(
    'everything about an OIDC provider',
    authServer(`
issuer: https://mcp.example.com
upstreamProviders:
  - name: okta
    type: oidc
    oidcConfig:
      issuerUrl: https://okta.example
      clientId: a
      clientSecretRef: { name: a, key: b }
      redirectUri: https://mcp.example.com/back
      userInfoOverride:
        endpointUrl: https://okta.example/userinfo
        additionalHeaders: { Accept: application/json }
        fieldMapping: { subjectFields: [sub] }`),
  ),
  accepted(
    'an issuer of a workload',
    manifest(
      'MCPServer',
      `
image: a
oidcConfig: { type: inline, resourceUrl: 'https://a.example/mcp', inline: { issuer: 'https://i.example' } }`,
    ),
  ),
  accepted(
    'everything about the authorization server of a workload',
    manifest(
      'MCPExternalAuthConfig',
      `
type: embeddedAuthServer
embeddedAuthServer:
  issuer: http://gate.demo.svc
  authorizationEndpointBaseUrl: https://login.example.com
  insecureAllowHTTP: true
  primaryUpstreamProvider: okta
  signingKeySecretRefs: [{ name: a, key: b }]
  hmacSecretRefs: [{ name: a, key: c }]
  tokenLifespans: { accessTokenLifespan: 1d }
  scopesSupported: [mcp]
  cimd: { enabled: true }
  registration: { enabled: false }
  clients:
    - { clientId: desk, displayName: Desk, verified: true, clientSecretRef: { name: a, key: s }, redirectUris: ['https://desk.example/cb'], scopes: [mcp], consent: implicit }
    - { clientId: robot, jwks: '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}', grants: [client_credentials] }
    - { clientId: worker.1, jwksUrl: 'https://worker.example/jwks', caBundleRef: { name: ca, key: ca.pem }, grants: [client_credentials] }
    - { clientId: local~app, redirectUris: ['http://127.0.0.1/cb', 'my.app:/cb'] }
  identityAssertions:
    - { issuer: 'https://okta.example', jwksUrl: 'https://okta.example/keys', caBundleRef: { name: ca, key: ca.pem }, clients: [{ clientId: desk }, { clientId: chat, clientSecretRef: { name: a, key: s } }, { clientId: 'https://assistant.example/client.json' }], subjectClaim: oid, emailClaim: mail, groupsClaim: teams, tenant: acme, scopes: [mcp], maxLifetime: 1h }
    - { issuer: 'https://b.example', jwksUrl: 'https://b.example/keys', clients: [{ clientId: signer, jwksUrl: 'https://signer.example/jwks' }] }
  blockedUsers: [n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg]
  introspectionClients: [{ clientId: a, clientSecretRef: { name: a, key: d } }]
  storage: { type: memory }
  revalidateAfter: 24h
  limits: { clients: 5 }
  upstreamProviders: [{ name: okta, type: oidc, oidcConfig: { issuerUrl: 'https://okta.example', clientId: a } }]`,
    ),
  ),
  accepted(
    'everything about shared service accounts',
    manifest(
      'MCPOIDCConfig',
      `
type: kubernetesServiceAccount
kubernetesServiceAccount:
  issuer: https://oidc.example.com
  jwksUrl: https://oidc.example.com/keys
  serviceAccount: agent
  namespace: agents
  useClusterAuth: false`,
    ),
  ),
];
