/** Returns the beginning of a manifest, up to its spec. */
export const head = (kind: string, name: string, annotations = '{}'): string =>
  `apiVersion: vmcp.dev/v1alpha1\nkind: ${kind}\nmetadata: { name: ${name}, annotations: ${annotations} }\nspec:\n`;

/** Fields that are only recorded with a workload. */
export const RECORDED = {
  registry_url: 'https://registry.example/servers.json',
  registry_api_url: 'https://registry.example',
  runtime_config: { builder_image: 'node:24', additional_packages: ['git'] },
  ignore_config: { loadGlobal: true, printOverlays: false },
};

/** A workload with every setting that a run configuration can express. */
export const FULL = `${head('MCPServer', 'full', `{ vmcp.dev/recorded: '${JSON.stringify(RECORDED)}' }`)}  groupRef: tools
  image: example/full:1
  args: [--fast]
  transport: streamable-http
  mcpPort: 8000
  proxyPort: 9000
  proxyMode: streamable-http
  endpointPrefix: /full
  trustProxyHeaders: true
  publish: ['9001:9001']
  allowDockerGateway: true
  envFileDir: /run/secrets
  debug: true
  env: [{ name: LEVEL, value: debug }]
  secrets: [{ name: company, key: token, targetEnvName: TOKEN }, { name: company, key: other }]
  volumes: [{ name: data, hostPath: /data, mountPath: /in, readOnly: true }]
  toolsFilter: [find]
  toolsOverride: { find: { name: search } }
  headerForward:
    addPlaintextHeaders: { X-Plain: a }
    addHeadersFromSecret: { X-Secret: { name: company, key: header } }
  permissionProfile: { type: builtin, name: none }
  externalAuthConfigRef: { name: exchange }
  caBundleRef: { name: authorities }
  authzConfig: { type: configMap, configMap: { name: policies } }
  audit: { enabled: true, component: full }
  telemetry: { endpoint: https://otel.example/v1 }
  oidcConfigRef: { name: company, audience: full, scopes: [read], resourceUrl: https://full.example/mcp }
  webhooks:
    validating:
      - name: checker
        url: https://checker.example/
        timeout: 1500ms
        hmacSecretRef: { name: company, key: hmac }
        tls: { caBundleRef: { name: authorities, key: pem } }
  rateLimiting: { rules: [{ requests: 5, per: 1m, scope: global }] }
  backendReplicas: 2
  sessionStorage: { provider: redis, address: 'redis:6379', keyPrefix: 'full:' }
  podTemplateSpec: { metadata: { labels: { tier: gold } } }
`;
export const EXCHANGE = `${head('MCPExternalAuthConfig', 'exchange')}  type: tokenExchange
  tokenExchange:
    tokenUrl: https://sts.example/token
    clientId: me
    clientSecretRef: { name: company, key: exchange }
    audience: api
    externalTokenHeaderName: X-Token
`;
export const ISSUER = `${head('MCPOIDCConfig', 'company')}  type: inline
  inline:
    issuer: https://id.example
    clientId: introspector
    clientSecretRef: { name: company, key: introspection }
    jwksAuthTokenPath: /var/run/secrets/keys/token
`;
