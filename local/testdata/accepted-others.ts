import { accepted, manifest, type ManifestCase } from './manifest-case.ts';

/** Resources of all other kinds, and other documents. */
export const ACCEPTED_OTHERS: ManifestCase[] = [
  accepted('a Secret with binary data', 'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\ndata:\n  a: /w==\n'),
  accepted(
    'a Secret whose maps have no value',
    'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData:\ndata:\n',
  ),
  accepted('a group by name alone', 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata: { name: team }\n'),
  accepted('a group with a description', manifest('MCPGroup', 'description: The tools of the team')),
  accepted('an image', manifest('MCPServer', 'image: ghcr.io/acme/git:1\ngroupRef: team')),
  accepted(
    'a program',
    manifest('MCPServer', 'command: [npx, -y, server-memory]\nargs: [--quiet]\nstdioProcess: perSession'),
  ),
  accepted('a program with an image for the cluster', manifest('MCPServer', 'command: [node]\nimage: node:24')),
  accepted(
    'a program that speaks HTTP',
    manifest(
      'MCPServer',
      `
command: [node, server.js]
transport: streamable-http
mcpPort: 3000
backendReplicas: 2
headerForward: { addPlaintextHeaders: { X-Team: a }, addHeadersFromSecret: { X-Key: { name: k, key: v } } }`,
    ),
  ),
  accepted(
    'a remote server',
    manifest(
      'MCPServer',
      `
remoteUrl: https://mcp.example.com/mcp
caBundleRef: { name: ca }
remoteAuth:
  issuer: https://login.example.com
  authorizeUrl: https://login.example.com/authorize
  tokenUrl: https://login.example.com/token
  clientId: a
  clientSecretRef: { name: r, key: s }
  bearerTokenSecretRef: { name: r, key: t }
  scopes: [read]
  resource: https://mcp.example.com/mcp
  oauthParams: { prompt: consent }
  usePkce: true
  callbackPort: 8765
  timeout: 2m
  administrators: [alice]`,
    ),
  ),
  accepted(
    'a workload by itself, with everything',
    manifest(
      'MCPServer',
      `
image: acme/git:1
transport: sse
path: /sse
env: [{ name: A, value: '1' }, { name: B }]
secrets: [{ name: s, key: a, targetEnvName: TOKEN }, { name: s, key: b }]
proxyPort: 8080
proxyMode: sse
toolsFilter: [a]
toolsOverride: { a: { name: b, description: c } }
resources: { limits: { cpu: '0.5' } }
podTemplateSpec: { spec: { nodeSelector: { a: b } } }
volumes: [{ name: data, hostPath: /srv, mountPath: /data, readOnly: true }]
permissionProfile: { type: configmap, name: profiles, key: git.json }
replicas: 2
serviceAccount: git
automountServiceAccountToken: true
resourceOverrides:
  proxyDeployment: { labels: { a: b }, annotations: { a: b }, podLabels: { a: b }, podAnnotations: { a: b }, env: [{ name: X }] }
  proxyService: { labels: { a: b }, annotations: { a: b } }
trustProxyHeaders: true
trustedProxies: [10.0.0.0/8]
endpointPrefix: /git
publish: ['8080:80', '127.0.0.1:9000:9000/tcp', '53/udp', '[::1]:1:65535']
allowDockerGateway: true
envFileDir: /run/variables
debug: true
sessionAffinity: None
suspend: true
oidcConfigRef: { name: company, audience: git }
authzConfig: { type: inline, inline: { policies: [] } }
externalAuthConfigRef: { name: github }
audit: { enabled: true }
telemetry: {}
sessionStorage: { provider: memory }
rateLimiting: { perUser: { maxTokens: 1, refillPeriod: 1s } }
webhooks:
  validating:
    - name: scan
      url: https://scan.example.com/check
      timeout: 3s
      failurePolicy: ignore
      hmacSecretRef: { name: w, key: k }
      tls:
        caBundleRef: { configMapRef: { name: ca } }
        clientCertSecretRef: { name: w, key: c }
        clientKeySecretRef: { name: w, key: p }
        insecureSkipVerify: false`,
    ),
  ),
  accepted(
    'a builtin permission profile',
    manifest('MCPServer', 'image: a\npermissionProfile: { type: builtin, name: none }'),
  ),
  accepted(
    'injection of an upstream token',
    manifest(
      'MCPExternalAuthConfig',
      `
type: upstreamInject
upstreamInject: { providerName: github }
allowedHosts: ['*.github.com', 'api.github.com:443']
allowedServers: [github]`,
    ),
  ),
  accepted(
    'token exchange',
    manifest(
      'MCPExternalAuthConfig',
      `
type: tokenExchange
tokenExchange:
  tokenUrl: https://idp.example.com/token
  clientId: a
  clientSecretRef: { name: a, key: b }
  audience: jira
  scopes: [read]
  subjectTokenType: urn:ietf:params:oauth:token-type:id_token
  subjectProviderName: okta
  externalTokenHeaderName: X-Token
  caBundleRef: { name: ca, key: ca.crt }`,
    ),
  ),
  accepted(
    'enterprise-managed authorization',
    manifest(
      'MCPExternalAuthConfig',
      `
type: xaa
xaa:
  idpTokenUrl: https://idp.example.com/token
  idpClientId: a
  idpClientSecretRef: { name: a, key: b }
  targetTokenUrl: http://auth.chat.svc/token
  insecureTargetTokenUrl: true
  targetClientId: c
  targetClientSecretRef: { name: a, key: c }
  targetAudience: https://auth.chat.example
  targetResource: https://chat.example/mcp
  scopes: [chat.read]
  subjectProviderName: okta
  subjectTokenType: urn:ietf:params:oauth:token-type:id_token
  caBundleRef: { name: ca }`,
    ),
  ),
  accepted(
    'client credentials with a secret',
    manifest(
      'MCPExternalAuthConfig',
      `
type: clientCredentials
clientCredentials:
  tokenUrl: https://idp.example.com/token
  clientId: a
  clientSecretRef: { name: a, key: b }`,
    ),
  ),
  accepted(
    'client credentials with a key',
    manifest(
      'MCPExternalAuthConfig',
      `
type: clientCredentials
clientCredentials:
  tokenUrl: https://idp.example.com/token
  clientId: a
  privateKeyRef: { name: a, key: b }
  privateKeyId: one
  issuer: https://idp.example.com
  audience: reports
  resource: https://reports.example/mcp
  scopes: [read]
  externalTokenHeaderName: X-Token
  caBundleRef: { name: ca, key: ca.crt }`,
    ),
  ),
  accepted(
    'a fixed header',
    manifest(
      'MCPExternalAuthConfig',
      `
type: headerInjection
headerInjection: { headerName: X-Api-Key, valueSecretRef: { name: a, key: b } }`,
    ),
  ),
  accepted(
    'a fixed token',
    manifest('MCPExternalAuthConfig', 'type: bearerToken\nbearerToken: { tokenSecretRef: { name: a, key: b } }'),
  ),
  accepted('no authentication', manifest('MCPExternalAuthConfig', 'type: unauthenticated')),
  accepted(
    'AWS STS',
    manifest(
      'MCPExternalAuthConfig',
      `
type: awsSts
awsSts:
  region: eu-central-1
  service: bedrock
  roleClaim: role
  roleMappings: [{ claim: groups, matcher: admins, priority: 1, roleArn: 'arn:aws:iam::1:role/a' }]
  fallbackRoleArn: arn:aws:iam::1:role/b
  sessionDuration: 3600
  sessionNameClaim: sub`,
    ),
  ),
  accepted(
    'an authorization server of one workload',
    manifest(
      'MCPExternalAuthConfig',
      `
type: embeddedAuthServer
embeddedAuthServer:
  issuer: https://git.example.com
  headerStrategy: custom
  customHeaderName: X-Token
  upstreamProviders: [{ name: okta, type: oidc, oidcConfig: { issuerUrl: 'https://dev.okta.com', clientId: a } }]`,
    ),
  ),
  accepted('a shared issuer of service accounts', manifest('MCPOIDCConfig', 'type: kubernetesServiceAccount')),
  accepted(
    'a shared inline issuer',
    manifest(
      'MCPOIDCConfig',
      `
type: inline
inline: { issuer: 'https://login.example.com', clientId: a, clientSecretRef: { name: a, key: b }, groupsClaim: g }`,
    ),
  ),
  accepted(
    'a Secret in both ways of writing',
    `
apiVersion: v1
kind: Secret
metadata: { name: s, labels: { a: b } }
type: Opaque
stringData: { a: plain }
data: { b: Y29kZWQ= }
`,
  ),
  accepted('a ConfigMap', 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: c }\ndata: { a: "1" }\n'),
  accepted(
    'several documents, empty ones and comments',
    `# a comment
---
---
${manifest('MCPGroup', 'description: one')}---
# nothing
---
${manifest('MCPServer', 'image: a')}`,
  ),
  accepted(
    'anchors and merge keys',
    manifest(
      'MCPServer',
      `
image: a
resourceOverrides:
  proxyDeployment:
    labels: &labels { a: b }
  proxyService:
    labels: { <<: *labels, c: d }`,
    ),
  ),
  accepted(
    'what kubectl prints of a live resource',
    `
apiVersion: vmcp.dev/v1alpha1
kind: MCPGroup
metadata:
  name: team
  namespace: default
  uid: 6f0c
  generation: 3
  resourceVersion: "12"
  creationTimestamp: null
  managedFields: [{ manager: kubectl }]
  annotations: { kubectl.kubernetes.io/last-applied-configuration: '{}' }
spec: {}
status: { phase: Ready, whatever: 1 }
`,
  ),
];
