import { type ManifestCase, server } from './manifest-case.ts';

const oidc = (rest: string) => server(`incomingAuth:\n  type: oidc\n${rest.trim().replaceAll(/^/gm, '  ')}`);
const inline = (fields: string) => oidc(`oidcConfig: { type: inline, inline: { ${fields} } }`);

/** Invalid settings of boundary 1. */
export const REFUSED_INCOMING: ManifestCase[] = [
  {
    of: 'no type',
    text: server('incomingAuth: { resourceUrl: https://a.example/mcp }'),
    problems: ['7 spec.incomingAuth.type: required field is missing; write one of anonymous, oidc'],
  },
  {
    of: 'an unknown type',
    text: server('incomingAuth:\n  type: oauth'),
    problems: ['8 spec.incomingAuth.type: not one of anonymous, oidc; write one of them'],
  },
  {
    of: 'a misspelt field',
    text: server('incomingAuth:\n  type: anonymous\n  authzConfg: {}'),
    problems: ['9 spec.incomingAuth.authzConfg: unknown field `authzConfg`; did you mean `authzConfig`?'],
  },
  {
    of: 'oidc without an issuer',
    text: oidc('resourceUrl: https://a.example'),
    problems: [
      '8 spec.incomingAuth.type: type oidc needs exactly one of oidcConfig and oidcConfigRef; write one of them, and no more than one',
    ],
  },
  {
    of: 'oidc with two issuers',
    text: oidc('oidcConfig: { type: kubernetes }\noidcConfigRef: { name: a, audience: b }'),
    problems: [
      '8 spec.incomingAuth.type: type oidc needs exactly one of oidcConfig and oidcConfigRef; write one of them, and no more than one',
    ],
  },
  {
    of: 'a shared issuer without audience',
    text: oidc('oidcConfigRef:\n  name: company'),
    problems: [
      '9 spec.incomingAuth.oidcConfigRef.audience: required field is missing; with oidcConfigRef the audience must be written explicitly',
    ],
  },
  {
    of: 'two resource URLs',
    text: oidc(
      'resourceUrl: https://a.example/mcp\noidcConfig:\n  type: kubernetes\n  resourceUrl: https://b.example/mcp',
    ),
    problems: [
      '12 spec.incomingAuth.oidcConfig.resourceUrl: differs from resourceUrl; write one URL, at one of the two places',
    ],
  },
  {
    of: 'two resource URLs, one with the reference',
    text: oidc(
      "resourceUrl: https://a.example/mcp\noidcConfigRef: { name: a, audience: b, resourceUrl: 'https://a.example/' }",
    ),
    problems: [
      '10 spec.incomingAuth.oidcConfigRef.resourceUrl: differs from resourceUrl; write one URL, at one of the two places',
    ],
  },
  {
    of: 'two answers about private addresses',
    text: oidc(
      "jwksAllowPrivateIP: false\noidcConfig: { type: inline, inline: { issuer: 'https://i.example', jwksAllowPrivateIP: true } }",
    ),
    problems: [
      '10 spec.incomingAuth.oidcConfig.inline.jwksAllowPrivateIP: differs from jwksAllowPrivateIP; write one value, at one of the two places',
    ],
  },
  {
    of: 'a resource URL with a fragment',
    text: oidc("resourceUrl: 'https://a.example/mcp#x'\noidcConfig: { type: kubernetes }"),
    problems: [
      '9 spec.incomingAuth.resourceUrl: not an absolute http or https URL without user name, query and fragment; write for example https://host.example/path',
    ],
  },
  {
    of: 'a resource URL that is relative',
    text: oidc('resourceUrl: /mcp\noidcConfig: { type: kubernetes }'),
    problems: [
      '9 spec.incomingAuth.resourceUrl: not an absolute http or https URL without user name, query and fragment; write for example https://host.example/path',
    ],
  },
  {
    of: 'a user name in a URL',
    text: inline("issuer: 'https://i.example', jwksUrl: 'https://user:pass@i.example/keys'"),
    problems: [
      '9 spec.incomingAuth.oidcConfig.inline.jwksUrl: not an absolute http or https URL without user name and password; write for example https://host.example/path',
    ],
  },
  {
    of: 'a bare host as issuer',
    text: inline('issuer: idp.example'),
    problems: [
      '9 spec.incomingAuth.oidcConfig.inline.issuer: not an absolute http or https URL without user name, query and fragment; write for example https://host.example/path',
    ],
  },
  {
    of: 'an http issuer',
    text: inline("issuer: 'http://idp.example'"),
    problems: [
      '9 spec.incomingAuth.oidcConfig.inline.issuer: http is allowed on loopback only; write an https URL, or set incomingAuth.oidcConfig.inline.insecureAllowHTTP or authServerConfig.insecureAllowHTTP to true',
    ],
  },
  {
    of: 'an http issuer that only begins like loopback',
    text: inline("issuer: 'http://127.0.0.1.evil.example'"),
    problems: [
      '9 spec.incomingAuth.oidcConfig.inline.issuer: http is allowed on loopback only; write an https URL, or set incomingAuth.oidcConfig.inline.insecureAllowHTTP or authServerConfig.insecureAllowHTTP to true',
    ],
  },
  {
    of: 'an inline type with the block of another',
    text: oidc('oidcConfig:\n  type: inline\n  kubernetes: { audience: a }'),
    problems: [
      '10 spec.incomingAuth.oidcConfig.type: type inline needs the block inline; write inline, or change type',
      '11 spec.incomingAuth.oidcConfig.kubernetes: belongs to type kubernetes only; change type, or remove kubernetes',
    ],
  },
  {
    of: 'a ConfigMap type without its block',
    text: oidc('oidcConfig: { type: configMap }'),
    problems: [
      '9 spec.incomingAuth.oidcConfig.type: type configMap needs the block configMap; write configMap, or change type',
    ],
  },
  {
    of: 'a client secret without client',
    text: inline("issuer: 'https://i.example', clientSecretRef: { name: a, key: b }"),
    problems: [
      '9 spec.incomingAuth.oidcConfig.inline.clientSecretRef: needs clientId; write it, or remove clientSecretRef',
    ],
  },
  {
    of: 'a reference without key',
    text: inline("issuer: 'https://i.example', clientId: a, clientSecretRef: { name: a }"),
    problems: ['9 spec.incomingAuth.oidcConfig.inline.clientSecretRef.key: required field is missing; write a string'],
  },
  {
    of: 'a token file outside of its folder',
    text: inline("issuer: 'https://i.example', jwksAuthTokenPath: /var/run/secrets/../../etc/passwd"),
    problems: [
      '9 spec.incomingAuth.oidcConfig.inline.jwksAuthTokenPath: not a file below /var/run/secrets/; write its absolute path without ..',
    ],
  },
  {
    of: 'both ways of naming certificates',
    text: inline("issuer: 'https://i.example', caBundleRef: { name: a, configMapRef: { name: b } }"),
    problems: [
      '9 spec.incomingAuth.oidcConfig.inline.caBundleRef: needs exactly one of configMapRef and name; write one of them and remove the others',
    ],
  },
  {
    of: 'a key without the name of its ConfigMap',
    text: inline("issuer: 'https://i.example', caBundleRef: { key: a, configMapRef: { name: b } }"),
    problems: ['9 spec.incomingAuth.oidcConfig.inline.caBundleRef.key: needs name; write it, or remove key'],
  },
  {
    of: "a foreign key set with the cluster's",
    text: oidc("oidcConfig:\n  type: kubernetes\n  kubernetes: { jwksUrl: 'https://keys.example' }"),
    problems: [
      "11 spec.incomingAuth.oidcConfig.kubernetes.jwksUrl: not the cluster's own key set, which useClusterAuth supplies; set useClusterAuth to false, or remove jwksUrl",
    ],
  },
  {
    of: 'a namespace without service account',
    text: oidc('oidcConfig: { type: kubernetes, kubernetes: { namespace: a } }'),
    problems: [
      '9 spec.incomingAuth.oidcConfig.kubernetes.namespace: needs serviceAccount; write it, or remove namespace',
    ],
  },
  {
    of: 'a policy source with two blocks',
    text: oidc('oidcConfig: { type: kubernetes }\nauthzConfig: { type: inline, inline: {}, configMap: { name: a } }'),
    problems: [
      '10 spec.incomingAuth.authzConfig.configMap: belongs to type configMap only; change type, or remove configMap',
    ],
  },
  {
    of: 'an unknown policy mode',
    text: oidc('oidcConfig: { type: kubernetes }\nauthzConfig: { type: inline, mode: dry, inline: {} }'),
    problems: ['10 spec.incomingAuth.authzConfig.mode: not one of enforce, audit; write one of them'],
  },
  {
    of: 'an origin with a path',
    text: server("incomingAuth: { type: anonymous, allowedOrigins: ['https://a.example/x'] }"),
    problems: ['7 spec.incomingAuth.allowedOrigins[0]: not an origin; write scheme://host or scheme://host:port'],
  },
  {
    of: 'a host with a scheme',
    text: server("incomingAuth: { type: anonymous, allowedHosts: ['https://a.example'] }"),
    problems: ['7 spec.incomingAuth.allowedHosts[0]: not a host; write host, host:port or *.suffix'],
  },
  {
    of: 'a scope with a space',
    text: inline("issuer: 'https://i.example', scopes: [read write]"),
    problems: [
      '9 spec.incomingAuth.oidcConfig.inline.scopes[0]: not a scope; write it without spaces, quotes and backslashes',
    ],
  },
];
