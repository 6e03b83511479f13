import { manifest, type ManifestCase, openServer } from './manifest-case.ts';

const okta = "{ name: okta, type: oidc, oidcConfig: { issuerUrl: 'https://okta.example', clientId: a } }";

const external = (spec: string) => manifest('MCPExternalAuthConfig', spec);
const XAA =
  'type: xaa\nxaa:\n  idpTokenUrl: https://i.example/t\n  targetTokenUrl: https://t.example/t\n  targetAudience: https://t.example';
const CLIENT = 'type: clientCredentials\nclientCredentials:\n  tokenUrl: https://a.example/t\n  clientId: vmcp';

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
      '6 spec.type: not one of upstreamInject, tokenExchange, xaa, clientCredentials, headerInjection, bearerToken, unauthenticated, awsSts, embeddedAuthServer; write one of them',
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
    of: 'xaa over http to the identity provider and to the target',
    text: external(
      'type: xaa\nxaa:\n  idpTokenUrl: http://i.example/t\n  targetTokenUrl: http://t.example/t\n  targetAudience: https://t.example',
    ),
    problems: [
      '8 spec.xaa.idpTokenUrl: http is allowed on loopback only; write an https URL',
      '9 spec.xaa.targetTokenUrl: http is allowed on loopback only; write an https URL, or set insecureTargetTokenUrl to true',
    ],
  },
  {
    of: 'secrets of xaa without the clients that they belong to',
    text: external(`${XAA}\n  idpClientSecretRef: { name: a, key: b }\n  targetClientSecretRef: { name: a, key: b }`),
    problems: [
      '11 spec.xaa.idpClientSecretRef: needs idpClientId; write it, or remove idpClientSecretRef',
      '12 spec.xaa.targetClientSecretRef: needs targetClientId; write it, or remove targetClientSecretRef',
    ],
  },
  {
    of: 'another subject token than an ID token with xaa',
    text: external(`${XAA}\n  subjectTokenType: access_token`),
    problems: [
      '11 spec.xaa.subjectTokenType: not one of urn:ietf:params:oauth:token-type:id_token, id_token; write one of them',
    ],
  },
  {
    of: 'xaa without an audience',
    text: external('type: xaa\nxaa: { idpTokenUrl: https://i.example/t, targetTokenUrl: https://t.example/t }'),
    problems: ['7 spec.xaa.targetAudience: required field is missing; write a string'],
  },
  {
    of: 'xaa without block',
    text: external('type: xaa'),
    problems: ['6 spec.type: type xaa needs the block xaa; write xaa, or change type'],
  },
  {
    of: 'the block of xaa elsewhere',
    text: external(XAA.replace('type: xaa', 'type: unauthenticated')),
    problems: ['7 spec.xaa: belongs to type xaa only; change type, or remove xaa'],
  },
  {
    of: 'client credentials with a secret and a key',
    text: external(`${CLIENT}\n  clientSecretRef: { name: a, key: b }\n  privateKeyRef: { name: a, key: b }`),
    problems: [
      '7 spec.clientCredentials: needs exactly one of clientSecretRef and privateKeyRef; write one of them and remove the others',
    ],
  },
  {
    of: 'settings of a key with a secret',
    text: external(`${CLIENT}\n  clientSecretRef: { name: a, key: b }\n  privateKeyId: a\n  issuer: https://a.example`),
    problems: [
      '11 spec.clientCredentials.privateKeyId: needs privateKeyRef; write it, or remove privateKeyId',
      '12 spec.clientCredentials.issuer: needs privateKeyRef; write it, or remove issuer',
    ],
  },
  {
    of: 'client credentials without block',
    text: external('type: clientCredentials'),
    problems: [
      '6 spec.type: type clientCredentials needs the block clientCredentials; write clientCredentials, or change type',
    ],
  },
  {
    of: 'the block of client credentials elsewhere',
    text: external(
      `${CLIENT.replace('type: clientCredentials', 'type: unauthenticated')}\n  clientSecretRef: { name: a, key: b }`,
    ),
    problems: [
      '7 spec.clientCredentials: belongs to type clientCredentials only; change type, or remove clientCredentials',
    ],
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
