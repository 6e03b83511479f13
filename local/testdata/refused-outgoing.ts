import { manifest, type ManifestCase, openServer } from './manifest-case.ts';

const okta = "{ name: okta, type: oidc, oidcConfig: { issuerUrl: 'https://okta.example', clientId: a } }";

/** Invalid settings of boundary 2. */
export const REFUSED_OUTGOING: ManifestCase[] = [
  {
    of: 'a reference without its block',
    text: openServer('outgoingAuth:\n  source: inline\n  backends:\n    a: { type: externalAuthConfigRef }'),
    problems: [
      '11 spec.outgoingAuth.backends.a.type: type external_auth_config_ref or externalAuthConfigRef needs the block externalAuthConfigRef; write externalAuthConfigRef, or change type',
    ],
  },
  {
    of: 'a block without its type',
    text: openServer(
      'outgoingAuth:\n  source: inline\n  backends:\n    a: { type: discovered, externalAuthConfigRef: { name: a } }',
    ),
    problems: [
      '11 spec.outgoingAuth.backends.a.externalAuthConfigRef: belongs to type external_auth_config_ref or externalAuthConfigRef only; change type, or remove externalAuthConfigRef',
    ],
  },
  {
    of: 'a name that no backend can have',
    text: openServer('outgoingAuth:\n  source: inline\n  backends: { A_b: { type: discovered } }'),
    problems: [
      '10 spec.outgoingAuth.backends.A_b: not the name of an object; write lower-case letters, digits, hyphens and dots',
    ],
  },
  {
    of: 'the snake case of a field',
    text: openServer(
      'outgoingAuth:\n  source: inline\n  backends:\n    a: { type: externalAuthConfigRef, external_auth_config_ref: { name: a } }',
    ),
    problems: [
      '11 spec.outgoingAuth.backends.a.external_auth_config_ref: unknown field `external_auth_config_ref`; did you mean `externalAuthConfigRef`?',
      '11 spec.outgoingAuth.backends.a.type: type external_auth_config_ref or externalAuthConfigRef needs the block externalAuthConfigRef; write externalAuthConfigRef, or change type',
    ],
  },
  {
    of: 'an unknown type of external authentication',
    text: manifest('MCPExternalAuthConfig', 'type: basic'),
    problems: [
      '6 spec.type: not one of upstreamInject, tokenExchange, headerInjection, bearerToken, unauthenticated, awsSts, embeddedAuthServer; write one of them',
    ],
  },
  {
    of: 'external authentication without its block',
    text: manifest('MCPExternalAuthConfig', 'type: upstreamInject'),
    problems: ['6 spec.type: type upstreamInject needs the block upstreamInject; write upstreamInject, or change type'],
  },
  {
    of: 'external authentication with two blocks',
    text: manifest(
      'MCPExternalAuthConfig',
      'type: unauthenticated\nbearerToken: { tokenSecretRef: { name: a, key: b } }',
    ),
    problems: ['7 spec.bearerToken: belongs to type bearerToken only; change type, or remove bearerToken'],
  },
  {
    of: 'token exchange without an endpoint',
    text: manifest('MCPExternalAuthConfig', 'type: tokenExchange\ntokenExchange: { audience: a }'),
    problems: ['7 spec.tokenExchange.tokenUrl: required field is missing; write a string'],
  },
  {
    of: 'a secret written out',
    text: manifest(
      'MCPExternalAuthConfig',
      'type: tokenExchange\ntokenExchange:\n  tokenUrl: https://a.example\n  clientSecret: hunter2',
    ),
    problems: ['9 spec.tokenExchange.clientSecret: unknown field `clientSecret`; did you mean `clientSecretRef`?'],
  },
  {
    of: 'a header name with a space',
    text: manifest(
      'MCPExternalAuthConfig',
      "type: headerInjection\nheaderInjection: { headerName: 'X Key', valueSecretRef: { name: a, key: b } }",
    ),
    problems: ['7 spec.headerInjection.headerName: not a header name; write a name such as X-Api-Key'],
  },
  {
    of: 'a credential in a header of the protocol',
    text: manifest(
      'MCPExternalAuthConfig',
      'type: headerInjection\nheaderInjection: { headerName: Content-Type, valueSecretRef: { name: a, key: b } }',
    ),
    problems: ['7 spec.headerInjection.headerName: a header of the protocol; write another name, such as X-Api-Key'],
  },
  {
    of: 'forwarded headers that no request can carry',
    text: manifest(
      'MCPServer',
      'groupRef: team\nremoteUrl: https://a.example/mcp\nheaderForward:\n  addPlaintextHeaders:\n    Host: a\n    X-Key: "a\\nb"',
    ),
    problems: [
      '10 spec.headerForward.addPlaintextHeaders.Host: a header of the protocol; write another name, such as X-Api-Key',
      '11 spec.headerForward.addPlaintextHeaders.X-Key: not the value of a header; write no line breaks and no control characters',
    ],
  },
  {
    of: 'a provider name that is no DNS label',
    text: manifest('MCPExternalAuthConfig', 'type: upstreamInject\nupstreamInject: { providerName: Git_Hub }'),
    problems: [
      '7 spec.upstreamInject.providerName: not a DNS label; write lower-case letters, digits and hyphens, at most 63, the first and last no hyphen',
    ],
  },
  {
    of: 'a session of five minutes',
    text: manifest('MCPExternalAuthConfig', 'type: awsSts\nawsSts: { region: a, sessionDuration: 300 }'),
    problems: ['7 spec.awsSts.sessionDuration: less than 900; write at least 900'],
  },
  {
    of: 'two providers for one workload',
    text: manifest(
      'MCPExternalAuthConfig',
      `type: embeddedAuthServer\nembeddedAuthServer:\n  issuer: https://a.example\n  upstreamProviders:\n    - ${okta}\n    - ${okta.replace('okta', 'two')}`,
    ),
    problems: ['9 spec.embeddedAuthServer.upstreamProviders: has more than 1 entries; remove some'],
  },
  {
    of: 'a custom header without its name',
    text: manifest(
      'MCPExternalAuthConfig',
      `type: embeddedAuthServer\nembeddedAuthServer:\n  issuer: https://a.example\n  headerStrategy: custom\n  upstreamProviders: [${okta}]`,
    ),
    problems: [
      '7 spec.embeddedAuthServer.customHeaderName: belongs to headerStrategy custom, which needs it; write both or neither',
    ],
  },
  {
    of: 'audience at a shared issuer',
    text: manifest('MCPOIDCConfig', "type: inline\ninline: { issuer: 'https://a.example', audience: a }"),
    problems: [
      '7 spec.inline.audience: unknown field `audience`; remove it, or use one of issuer, clientId, clientSecretRef, jwksUrl, introspectionUrl, caBundleRef, jwksAuthTokenPath, insecureAllowHTTP, jwksAllowPrivateIP, protectedResourceAllowPrivateIP, groupsClaim',
    ],
  },
  {
    of: 'a shared issuer over http',
    text: manifest('MCPOIDCConfig', "type: inline\ninline: { issuer: 'http://a.example' }"),
    problems: [
      '7 spec.inline.issuer: http is allowed on loopback only; write an https URL, or set inline.insecureAllowHTTP to true',
    ],
  },
];
