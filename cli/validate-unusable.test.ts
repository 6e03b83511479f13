import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { locateState } from '#local/state-folder';
import { contextWith } from './testdata/context-with.ts';
import { validate } from './validate.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-validate-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function problemsOf(text: string): Promise<string[]> {
  let said = '';
  const context = contextWith({
    state: locateState(join(folder, 'state')),
    input: Readable.from([text]),
    out: { write: () => undefined },
    err: { write: (more: string) => (said += more) },
  });
  await validate(['-'], { output: 'table', references: 'error' }, context);
  return said.split('\n').filter((line) => line !== '' && !line.endsWith('(warning)'));
}

const indented = (text: string) => text.trim().replaceAll(/^/gm, '  ');
const resource = (kind: string, name: string, spec: string) =>
  `apiVersion: vmcp.dev/v1alpha1\nkind: ${kind}\nmetadata: { name: ${name} }\nspec:\n${indented(spec)}\n---\n`;
const secret = `apiVersion: v1\nkind: Secret\nmetadata: { name: keys }\nstringData: { short: sesame, lines: "a\\nb", empty: "" }\n---\n`;
const group = resource('MCPGroup', 'team', 'description: x');

/** Returns a server whose fields begin at line 6. */
const server = (fields: string) =>
  resource('VirtualMCPServer', 'demo', `config: { groupRef: team }\n${fields.trim()}`) + group + secret;
const openServer = (fields: string) => server(`incomingAuth: { type: anonymous }\n${fields.trim()}`);
const authServer = (fields: string) =>
  server(`
incomingAuth:
  type: oidc
  resourceUrl: https://mcp.example.com/mcp
  oidcConfig: { type: inline, inline: { issuer: 'https://mcp.example.com' } }
authServerConfig:
  issuer: https://mcp.example.com
  upstreamProviders:
    - { name: idp, type: oidc, oidcConfig: { issuerUrl: 'https://idp.example', clientId: a } }
${indented(fields)}`);
/** Returns a backend whose MCPExternalAuthConfig begins at line 1. */
const backendWith = (auth: string, spec = "remoteUrl: 'https://files.example/mcp'") =>
  resource('MCPExternalAuthConfig', 'login', auth) +
  resource('MCPServer', 'files', `groupRef: team\nexternalAuthConfigRef: { name: login }\n${spec}`) +
  server(
    "incomingAuth: { type: oidc, resourceUrl: 'https://a.example/mcp', oidcConfig: { type: inline, inline: { issuer: 'https://i.example' } } }",
  );

const CERTIFICATE = readFileSync(new URL('../runtime/incoming/testdata/loopback-cert.pem', import.meta.url), 'utf8');
const OTHER_KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();
/** An RSA key of 1024 bits, which TLS refuses. */
const SHORT_PAIR = {
  'tls.crt': readFileSync(new URL('./testdata/short-cert.pem', import.meta.url), 'utf8'),
  'tls.key': readFileSync(new URL('./testdata/short-key.pem', import.meta.url), 'utf8'),
};
const secretOf = (name: string, values: Record<string, string>) =>
  `apiVersion: v1\nkind: Secret\nmetadata: { name: ${name} }\nstringData: ${JSON.stringify(values)}\n---\n`;

/** A Secret with a value that is no text, and one of 32 letters. */
const BINARY = `apiVersion: v1\nkind: Secret\nmetadata: { name: binary }\ndata: { image: /w==, text: ${btoa('x'.repeat(32))} }\n---\n`;

const KEY = /is no private key that can sign tokens: write one in PEM form/;
const EMPTY = /is empty: write its value/;
const SHORT = /is shorter than 32 bytes: write random ones/;

describe('validate', () => {
  it.each<[string, string, number, RegExp]>([
    ['a signing key that is none', authServer('signingKeySecretRefs: [{ name: keys, key: short }]'), 14, KEY],
    [
      'a value that is no text',
      authServer('hmacSecretRefs: [{ name: binary, key: image }]') + BINARY,
      14,
      /hmacSecretRefs\[0\]: key "image" of Secret "binary" is not text in UTF-8: write text/,
    ],
    ['a short HMAC secret', authServer('hmacSecretRefs: [{ name: keys, key: short }]'), 14, SHORT],
    [
      'a short secret that seals',
      openServer('sessionStorage: { provider: redis, address: r, sealingSecretRefs: [{ name: keys, key: short }] }'),
      7,
      SHORT,
    ],
    [
      'authorities of a Redis that are none',
      openServer(
        'sessionStorage: { provider: redis, redis: { addr: r, tls: { caCertSecretRef: { name: keys, key: short } } } }',
      ),
      7,
      /is no certificate: write it/,
    ],
    [
      'an empty secret of an introspection client',
      authServer('introspectionClients: [{ clientId: a, clientSecretRef: { name: keys, key: empty } }]'),
      14,
      EMPTY,
    ],
    [
      'an empty secret of the issuer',
      server(
        "incomingAuth:\n  type: oidc\n  resourceUrl: https://a.example/mcp\n  oidcConfig:\n    type: inline\n    inline: { issuer: 'https://i.example', clientId: a, clientSecretRef: { name: keys, key: empty } }",
      ),
      11,
      EMPTY,
    ],
    [
      'a line break in a secret header of traces',
      openServer(
        "telemetry: { tracingEnabled: true, endpoint: 'https://o.example', headersFromSecret: { x-a: { name: keys, key: lines } } }",
      ),
      7,
      /has a line break/,
    ],
    [
      'a secret of the issuer that has blanks only',
      server(
        "incomingAuth:\n  type: oidc\n  resourceUrl: https://a.example/mcp\n  oidcConfig:\n    type: inline\n    inline: { issuer: 'https://i.example', clientId: a, clientSecretRef: { name: texts, key: blank } }",
      ) + secretOf('texts', { blank: '   ' }),
      11,
      EMPTY,
    ],
    [
      'a header with a character beyond Latin-1',
      backendWith('type: bearerToken\nbearerToken: { tokenSecretRef: { name: texts, key: horse } }') +
        secretOf('texts', { horse: 'žluť' }),
      6,
      /has a character that an HTTP header cannot carry: write ASCII/,
    ],
    [
      'a header of blanks only',
      backendWith('type: bearerToken\nbearerToken: { tokenSecretRef: { name: texts, key: blank } }') +
        secretOf('texts', { blank: '   ' }),
      6,
      EMPTY,
    ],
    [
      'a certificate whose key is too short',
      openServer('tls: { secretRef: { name: pair } }') + secretOf('pair', SHORT_PAIR),
      7,
      /tls\.secretRef: key "tls\.crt" of Secret "pair" cannot be used for TLS: the key of the certificate is too short/,
    ],
    [
      'a chain that cannot be read',
      openServer('tls: { secretRef: { name: pair } }') +
        secretOf('pair', { 'tls.crt': `${CERTIFICATE}-----BEGIN CERTIFICATE-----\nMIIB`, 'tls.key': OTHER_KEY }),
      7,
      /cannot be used for TLS: a certificate or its chain cannot be read \(bad end line\): write whole PEM blocks/,
    ],
    [
      'a certificate with the key of another one',
      openServer('tls: { secretRef: { name: pair } }') +
        secretOf('pair', { 'tls.crt': CERTIFICATE, 'tls.key': OTHER_KEY }),
      7,
      /tls\.secretRef: key "tls\.key" of Secret "pair" is not the private key of the certificate "tls\.crt"/,
    ],
    [
      'a client certificate of a webhook with the key of another one',
      server('incomingAuth: { type: anonymous }').replace(
        /^/,
        resource(
          'MCPServer',
          'files',
          "groupRef: team\nremoteUrl: 'https://files.example/mcp'\nwebhooks:\n  validating:\n    - name: w\n      url: https://w.example\n      tls: { clientCertSecretRef: { name: pair, key: tls.crt }, clientKeySecretRef: { name: pair, key: tls.key } }",
        ),
      ) + secretOf('pair', { 'tls.crt': CERTIFICATE, 'tls.key': OTHER_KEY }),
      8,
      /webhooks\.validating "w": key "tls\.key" of Secret "pair" is not the private key/,
    ],
    [
      'an AWS region that is none',
      backendWith('type: awsSts\nawsSts:\n  region: EU West'),
      7,
      /awsSts\.region: not an AWS region; write one such as eu-central-1/,
    ],
    [
      'an expression as matcher',
      backendWith(
        'type: awsSts\nawsSts:\n  region: eu-west-1\n  roleMappings:\n    - roleArn: \'arn:aws:iam::123456789012:role/a\'\n      matcher: \'"a" in claims["groups"]\'',
      ),
      10,
      /awsSts\.roleMappings\[0\]\.matcher: expressions are not evaluated/,
    ],
    [
      'a line break in a user-info header',
      authServer('primaryUpstreamProvider: idp').replace(
        'clientId: a }',
        'clientId: a, userInfoOverride: { endpointUrl: \'https://i.example\', additionalHeaders: { x-a: "a\\nb" } } }',
      ),
      13,
      /userInfoOverride\.additionalHeaders\.x-a: cannot stand in a request/,
    ],
    [
      'a port that no URL has',
      resource('MCPServer', 'files', "groupRef: team\nremoteUrl: 'https://files.example:99999/mcp'"),
      6,
      /spec\.remoteUrl: not an absolute http or https URL/,
    ],
  ])('refuses %s at its line', async (_case, text, line, problem) => {
    const problems = await problemsOf(text);
    expect(problems).toEqual([expect.stringMatching(problem)]);
    expect(problems[0]).toMatch(new RegExp(`^-:${line}:`));
  });

  it('accepts the text values of a Secret that also has a binary value', async () => {
    const text = authServer('hmacSecretRefs: [{ name: binary, key: text }]') + BINARY;
    expect(await problemsOf(text)).toEqual([]);
  });

  it('prints the specific reason of each provider that is out of service', async () => {
    const provider = (name: string, secretKeyRef: string) =>
      `- { name: ${name}, type: oidc, oidcConfig: { issuerUrl: 'https://${name}.example', clientId: a, clientSecretRef: ${secretKeyRef} } }`;
    const providers = [provider('idp', '{ name: gone, key: a }'), provider('hub', '{ name: keys, key: other }')];
    const text = authServer('').replace(/- \{ name: idp.*/, providers.join('\n      '));
    expect(await problemsOf(text)).toEqual([
      expect.stringMatching(/^-:12:.*VirtualMCPServer\/demo: SecretNotFound: .*upstreamProviders\[idp\]/),
      expect.stringMatching(/^-:12:.*VirtualMCPServer\/demo: SecretKeyNotFound: .*upstreamProviders\[hub\]/),
    ]);
  });
});
