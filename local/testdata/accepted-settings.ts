import { accepted, authServer, type ManifestCase, openServer, server } from './manifest-case.ts';

/** Servers with other different settings. */
export const ACCEPTED_SETTINGS: ManifestCase[] = [
  accepted(
    'aggregation',
    server(`
incomingAuth: { type: anonymous }`).replace(
      '{ groupRef: team }',
      `
    groupRef: team
    aggregation:
      conflictResolution: priority
      conflictResolutionConfig: { prefixFormat: '{workload}.', prefixMode: onConflict, priorityOrder: [github, jira] }
      excludeAllTools: false
      apps: { rewriteCalls: true }
      tools:
        - workload: github
          filter: [create_issue]
          overrides:
            create_issue: { name: new_issue, description: Opens an issue, annotations: { title: New, readOnlyHint: false } }
        - { workload: jira, excludeAll: true }
      prompts:
        - workload: github
          filter: [review]
          overrides: { review: { name: review_change, description: Reviews a change } }
        - { workload: jira, excludeAll: true }
    operational:
      logLevel: debug
      timeouts: { default: 30s, perWorkload: { github: 2m }, maximum: 2h }
      failureHandling:
        healthCheckInterval: 1m
        healthCheckTimeout: 500ms
        unhealthyThreshold: 5
        statusReportingInterval: 15s
        partialFailureMode: fail
        circuitBreaker: { enabled: true, failureThreshold: 3, timeout: 1m30s }
      concurrency: { perBackend: 8, queue: 0 }`,
    ),
  ),
  accepted(
    'audit, telemetry and sessions under config',
    server(`
incomingAuth: { type: anonymous }`).replace(
      '{ groupRef: team }',
      `
    groupRef: team
    audit: { enabled: true, component: gate, eventTypes: [mcp_tool_call], includeRequestData: true, maxDataSize: 4096 }
    telemetry: { endpoint: 'http://otel:4318', tracingEnabled: true, samplingRate: '0.5', headers: { x-a: b } }
    sessionStorage: { provider: redis, address: 'redis:6379', db: 1, keyPrefix: 'a:', passwordRef: { name: r, key: p } }`,
    ),
  ),
  accepted(
    'sessions in a Redis behind Sentinels',
    openServer(`
audit: { enabled: true }
telemetry: { metricsEnabled: false }
sessionStorage:
  provider: redis
  sealingSecretRefs: [{ name: seal, key: new }, { name: seal, key: old }]
  redis:
    sentinelConfig: { masterName: main, sentinelAddrs: ['s1:26379', 's2:26379'], db: 2 }
    aclUserConfig: { usernameSecretRef: { name: r, key: u }, passwordSecretRef: { name: r, key: p } }
    tls: { caCertSecretRef: { name: r, key: ca }, insecureSkipVerify: false }
    sentinelTls: { insecureSkipVerify: true }
    dialTimeout: 2s
    readTimeout: 1s
    writeTimeout: 1s
    keyPrefix: 'vmcp:'
    requireReplicaAck: true`),
  ),
  accepted(
    'the shape of the pods',
    openServer(`
replicas: 3
serviceType: LoadBalancer
sessionAffinity: ClientIP
serviceAccount: vmcp
resources: { requests: { cpu: 100m, memory: 128Mi }, limits: { cpu: 1, memory: 1Gi } }
podTemplateSpec: { spec: { containers: [{ name: vmcp, env: [{ name: TZ, value: UTC }] }] } }
imagePullSecrets: [{ name: registry }]
networkPolicy: { enabled: false }
podDisruptionBudget: { minAvailable: 50% }
passthroughHeaders: [X-Request-Id]
trustedProxies: [10.0.0.0/8, 'fd00::/8']
tls: { secretRef: { name: cert } }`),
  ),
  accepted('autoscaling', openServer('autoscaling: { minReplicas: 2, maxReplicas: 6, targetCPU: 70 }')),
  accepted(
    'limits and rate limits',
    openServer(`
limits:
  sessionIdle: 1d
  sessionsPerPrincipal: 10
  sessionsPerReplica: 1000
  listDeadline: 2s
  connectTimeout: 1s
  maxRequestBytes: 1048576
  maxResponseBytes: 10485760
  bufferedBytes: 33554432
  jwksMaxAge: 10m
  jwksCooldown: 10s
  introspectionCache: 0s
  maxNameLength: 64
rateLimiting:
  rules: [{ requests: 100, per: 1m, scope: user }, { requests: 5, per: 1s, scope: tool, tool: x, onStoreFailure: open }]
  shared: { maxTokens: 100, refillPeriod: 1m }
  perUser: { maxTokens: 10, refillPeriod: 1m }
  tools: [{ name: a, shared: { maxTokens: 1, refillPeriod: 1s } }]`),
  ),
  accepted(
    'an authorization server with two providers',
    authServer(`
issuer: https://mcp.example.com
authorizationEndpointBaseUrl: https://login.example.com
signingKeySecretRefs: [{ name: keys, key: new }, { name: keys, key: old }]
hmacSecretRefs: [{ name: hmac, key: current }]
tokenLifespans: { accessTokenLifespan: 15m, refreshTokenLifespan: 30d, authCodeLifespan: 30s }
primaryUpstreamProvider: okta
scopesSupported: [mcp]
cimd: { enabled: true }
registration: { enabled: true, allowedRedirectHosts: [vscode.dev] }
clients:
  - { clientId: desk, displayName: Desk, verified: true, clientSecretRef: { name: a, key: s }, redirectUris: ['https://desk.example/cb'], scopes: [mcp], consent: implicit }
  - { clientId: robot, jwks: '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}', grants: [client_credentials] }
  - { clientId: worker.1, jwksUrl: 'https://worker.example/jwks', caBundleRef: { name: ca, key: ca.pem }, grants: [client_credentials] }
  - { clientId: local~app, redirectUris: ['http://127.0.0.1/cb', 'my.app:/cb'] }
identityAssertions:
  - { issuer: 'https://okta.example', jwksUrl: 'https://okta.example/keys', caBundleRef: { name: ca, key: ca.pem }, clients: [{ clientId: desk }, { clientId: chat, clientSecretRef: { name: a, key: s } }, { clientId: 'https://assistant.example/client.json' }], subjectClaim: oid, emailClaim: mail, groupsClaim: teams, tenant: acme, scopes: [mcp], maxLifetime: 1h }
  - { issuer: 'https://b.example', jwksUrl: 'https://b.example/keys', clients: [{ clientId: signer, jwksUrl: 'https://signer.example/jwks' }] }
blockedUsers: [n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg]
introspectionClients: [{ clientId: gate, clientSecretRef: { name: i, key: s } }]
revalidateAfter: 30m
limits: { registrationsPerMinute: 5, clients: 100, pendingLogins: 100, pendingLoginLifespan: 5m }
storage: { type: redis, redis: { addr: 'redis:6379', db: 3 } }
upstreamProviders:
  - name: github
    type: oauth2
    required: false
    additionalAuthorizationParams: { allow_signup: 'false' }
    caBundleRef: { name: ca, key: ca.pem }
    oauth2Config:
      authorizationEndpoint: https://github.com/login/oauth/authorize
      tokenEndpoint: https://github.com/login/oauth/access_token
      clientId: abc
      clientSecretRef: { name: github, key: secret }
      scopes: [repo, 'read:user']
      redirectUri: https://mcp.example.com/oauth/callback/github
      userInfo:
        endpointUrl: https://api.github.com/user
        httpMethod: GET
        additionalHeaders: { Accept: application/json }
        fieldMapping: { subjectFields: [id], nameFields: [name, login], emailFields: [email] }
      tokenResponseMapping:
        accessTokenPath: authed_user.access_token
        scopePath: authed_user.scope
        refreshTokenPath: refresh_token
        expiresInPath: expires_in
      identityFromToken: { subjectPath: authed_user.id, namePath: team.name, emailPath: email }
  - name: okta
    type: oidc
    oidcConfig:
      issuerUrl: https://dev.okta.com
      clientId: def
      scopes: [openid, profile]
      subjectClaim: uid
      userInfoOverride: { endpointUrl: 'https://dev.okta.com/userinfo', httpMethod: POST }`),
  ),
  accepted(
    'an authorization server over http, allowed once',
    server(`
incomingAuth:
  type: oidc
  oidcConfig: { type: inline, inline: { issuer: 'http://gate.demo.svc' } }
authServerConfig:
  issuer: http://gate.demo.svc
  insecureAllowHTTP: true
  upstreamProviders:
    - { name: idp, type: oidc, oidcConfig: { issuerUrl: 'http://idp.demo.svc', clientId: a } }`),
  ),
];
