import { accepted, type ManifestCase, openServer, server } from './manifest-case.ts';

/** Servers with different boundaries. */
export const ACCEPTED_BOUNDARIES: ManifestCase[] = [
  accepted('the smallest server', openServer('')),
  accepted(
    'an issuer with all its fields',
    server(`
incomingAuth:
  type: oidc
  resourceUrl: https://mcp.example.com/mcp
  jwksAllowPrivateIP: true
  allowedHosts: ['mcp.internal:4483', '*.example.com', '[::1]:4483']
  allowedOrigins: ['https://app.example.com', 'vscode-webview://abc']
  requiredTyp: at+jwt
  oidcConfig:
    type: inline
    inline:
      issuer: https://login.example.com/tenant
      clientId: vmcp
      audience: https://mcp.example.com/mcp
      clientSecretRef: { name: idp, key: secret }
      scopes: [mcp, offline_access]
      jwksUrl: https://login.example.com/keys
      introspectionUrl: https://login.example.com/introspect?v=2
      caBundleRef: { configMapRef: { name: ca, key: ca.pem } }
      jwksAuthTokenPath: /var/run/secrets/tokens/jwks
      insecureAllowHTTP: false
      jwksAllowPrivateIP: true
      protectedResourceAllowPrivateIP: true
      groupsClaim: roles`),
  ),
  accepted(
    'an http issuer on loopback',
    server(`
incomingAuth: { type: oidc, oidcConfig: { type: inline, inline: { issuer: 'http://127.0.0.1:9000' } } }`),
  ),
  accepted(
    'an http issuer that is allowed',
    server(`
incomingAuth:
  type: oidc
  oidcConfig: { type: inline, inline: { issuer: 'http://idp.demo.svc:9000', insecureAllowHTTP: true } }`),
  ),
  accepted(
    'settings of boundaries that are left over',
    server(`
incomingAuth: { type: anonymous, oidcConfig: { type: kubernetes } }
outgoingAuth: { source: discovered, backends: { a: { type: discovered } }, default: { type: discovered } }`),
  ),
  accepted(
    'a shared issuer that is left over, and fractions of durations',
    server(`
incomingAuth: { type: anonymous, oidcConfigRef: { name: a, audience: b } }
limits: { sessionIdle: 1.5h, listDeadline: 0.5s }`),
  ),
  accepted(
    'service account tokens without a block',
    server(`
incomingAuth: { type: oidc, oidcConfig: { type: kubernetes } }`),
  ),
  accepted(
    'service account tokens of one account',
    server(`
incomingAuth:
  type: oidc
  oidcConfig:
    type: kubernetes
    kubernetes: { audience: mcp, serviceAccount: agent, namespace: agents, issuer: 'https://kubernetes.default.svc' }`),
  ),
  accepted(
    "a key set that is not the cluster's",
    server(`
incomingAuth:
  type: oidc
  oidcConfig:
    type: kubernetes
    kubernetes: { useClusterAuth: false, jwksUrl: 'https://keys.example.com' }`),
  ),
  accepted(
    'an issuer in a ConfigMap',
    server(`
incomingAuth: { type: oidc, oidcConfig: { type: configMap, configMap: { name: issuer, key: oidc.yaml } } }`),
  ),
  accepted(
    'a shared issuer',
    server(`
incomingAuth:
  type: oidc
  oidcConfigRef: { name: company, audience: 'https://a.example/mcp', scopes: [mcp], resourceUrl: 'https://a.example/mcp' }`),
  ),
  accepted(
    'the resource URL where the field writes it',
    server(`
incomingAuth:
  type: oidc
  oidcConfig: { type: inline, resourceUrl: 'https://a.example/mcp', inline: { issuer: 'https://i.example' } }`),
  ),
  accepted(
    'the same resource URL at both places',
    server(`
incomingAuth:
  type: oidc
  resourceUrl: https://a.example/mcp
  oidcConfig: { type: inline, resourceUrl: 'https://a.example/mcp', inline: { issuer: 'https://i.example' } }`),
  ),
  accepted(
    'policies, recorded only',
    server(`
incomingAuth:
  type: oidc
  oidcConfig: { type: kubernetes }
  authzConfig:
    type: inline
    mode: audit
    inline: { policies: ['permit(principal, action, resource);'], entitiesJson: '[]' }`),
  ),
  accepted(
    'an empty list of policies',
    server(`
incomingAuth:
  type: oidc
  oidcConfig: { type: kubernetes }
  authzConfig: { type: inline, inline: { policies: [] } }`),
  ),
  accepted(
    'policies for callers without a token',
    server(`
incomingAuth:
  type: anonymous
  authzConfig: { type: inline, inline: { policies: ['permit(principal == Client::"anonymous", action, resource);'] } }`),
  ),
  accepted(
    'policies in a ConfigMap',
    server(`
incomingAuth:
  type: oidc
  oidcConfig: { type: kubernetes }
  authzConfig: { type: configMap, configMap: { name: policies } }`),
  ),
  accepted('another API group', openServer('').replace('vmcp.dev', 'toolhive.stacklok.dev')),
  accepted('what each backend says of itself', openServer('outgoingAuth: { source: discovered }')),
  accepted(
    'listed backends, in both spellings',
    openServer(`
outgoingAuth:
  source: inline
  backends:
    github: { type: external_auth_config_ref, externalAuthConfigRef: { name: github } }
    jira: { type: externalAuthConfigRef, externalAuthConfigRef: { name: jira } }
    files: { type: discovered }
  default: { type: discovered }`),
  ),
];
