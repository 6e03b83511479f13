import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import {
  MCPExternalAuthConfigSpec,
  MCPGroupSpec,
  MCPOIDCConfigSpec,
  MCPServerSpec,
  VirtualMCPServerSpec,
} from '#crds/kinds/index';
import { AuthServerConfig } from '#crds/parts/auth-server-config';
import { InlineAuthz } from '#crds/parts/authz-config';
import { InlineOidc } from '#crds/parts/oidc-config';
import { UpstreamProvider } from '#crds/parts/upstream-provider';
import type { FolderContent } from '#local/manifest-folder';
import type { Kind, Manifest } from '#operator/snapshot';
import { arbitraryValue, type Known } from './arbitrary-value.ts';
import { AUTHORITY } from '#operator/plan/testdata/authority';

export interface Resources {
  readonly server: unknown;
  readonly group: unknown;
  readonly backends: Readonly<Record<'alpha' | 'beta', unknown>>;
  readonly auth: Readonly<Record<'auth-a' | 'auth-b', unknown>>;
  readonly issuer: unknown;
  readonly configMap: Readonly<Record<string, string>>;
}

const pem = (type: 'private' | 'public', pair: ReturnType<typeof generateKeyPairSync>) =>
  String(pair[`${type}Key`].export({ type: type === 'private' ? 'pkcs8' : 'spki', format: 'pem' }));
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const loopback = (file: string) =>
  readFileSync(new URL(`../../runtime/incoming/testdata/loopback-${file}.pem`, import.meta.url), 'utf8');

/** Keys of the only Secret, one for each kind of value. */
export const SECRET: Readonly<Record<string, string>> = {
  plain: 'sesame',
  long: 'x'.repeat(48),
  empty: '',
  lines: 'two\nlines',
  signing: pem('private', p256),
  public: pem('public', p256),
  curve: pem('private', generateKeyPairSync('ec', { namedCurve: 'secp256k1' })),
  'tls.crt': loopback('cert'),
  'tls.key': loopback('key'),
};

const ISSUER = 'https://mcp.example';
const ENDPOINT = `${ISSUER}/mcp`;
const refs = Object.keys(SECRET).map((key) => ({ name: 'secret', key }));
const [plain, long, signing, certificate, privateKey] = ['plain', 'long', 'signing', 'tls.crt', 'tls.key'].map(
  (key) => ({ name: 'secret', key }),
);
const often = <T>(value: T, times: number): T[] => Array.from({ length: times }, () => value);
const bundles = [{ name: 'config' }, { configMapRef: { name: 'config', key: 'ca.crt' } }];

const KNOWN: Known = {
  byField: {
    groupRef: ['team'],
    issuer: [...often(ISSUER, 12), 'http://127.0.0.1:4483', 'http://idp.example', 'https://idp.example:99999'],
    resourceUrl: [
      ...often(ENDPOINT, 12),
      'http://127.0.0.1:4483/mcp',
      'https://[mcp.example/mcp',
      'https://a_b.example/%',
    ],
    audience: [...often(ENDPOINT, 3), 'someone'],
    workload: ['alpha', 'beta'],
    priorityOrder: ['alpha', 'beta'],
    providerName: [...often('idp', 5), 'other'],
    subjectProviderName: [...often('idp', 5), 'other'],
    primaryUpstreamProvider: ['idp', 'other'],
    signingKeySecretRefs: [...often(signing, 6), ...refs],
    hmacSecretRefs: [...often(long, 6), ...refs],
    sealingSecretRefs: [...often(long, 6), ...refs],
    tokenSecretRef: [...often(plain, 6), ...refs],
    valueSecretRef: [...often(plain, 6), ...refs],
    clientSecretRef: [...often(plain, 6), ...refs],
    caBundleRef: bundles,
    caCertSecretRef: [...often(certificate, 6), ...refs],
    clientCertSecretRef: [...often(certificate, 6), ...refs],
    clientKeySecretRef: [...often(privateKey, 6), ...refs],
    secretRef: [{ name: 'secret' }],
    replicas: [...often(1, 6), 2],
    allowedHosts: [['mcp.example', '*.example', '[::1]:4483', 'a:99999']],
    configMap: [
      { name: 'config', key: 'authz.json' },
      { name: 'config', key: 'oidc.json' },
    ],
    oidcConfigRef: [{ name: 'issuer', audience: ENDPOINT, resourceUrl: ENDPOINT }],
    policies: [
      ...often('permit(principal, action, resource);', 6),
      'forbid(principal, action, resource == Tool::"close");',
      'permit(principal, action == Action::"call_tool", resource) when { principal.claim_role == "admin" };',
      'permit(principal, action, resource',
      'permit(principal, action, resource) when { principal.nothing };',
    ],
    entitiesJson: [...often('[]', 4), '[', '{}', '[{"uid":{"type":"Tool","id":"a"},"attrs":{},"parents":[]}]'],
    samplingRate: ['0', '0.5', '1'],
    eventTypes: ['mcp_tool_call', 'management_list'],
    excludeEventTypes: ['mcp_ping', 'http_request'],
    endpoint: ['https://otlp.example', 'otlp.example:4318', 'http://127.0.0.1:4318', 'ftp://a', 'https://[::'],
    command: ['node', 'a b'],
    image: ['ghcr.io/owner/name:1.0'],
  },
  byReference: {
    Secret: [...often(plain, 12), ...refs, { name: 'secret', key: 'none' }, { name: 'none', key: 'plain' }],
    MCPGroup: ['team'],
    MCPExternalAuthConfig: [{ name: 'auth-a' }, { name: 'auth-b' }],
    ServiceAccount: ['account'],
  },
  texts: [
    ...['a', 'idp', 'alpha', 'X-Api-Key', 'Content-Type', 'Host', 'authorization', '__proto__', 'constructor', ''],
    ...[
      'eu-west-1',
      'EU West',
      'arn:aws:iam::123456789012:role/a',
      '"a" in claims["groups"]',
      'two\nlines',
      'é',
      '\u0000',
    ],
    ...['https://a.example/x', 'https://a.example', 'http://a.example/x', 'http://127.0.0.1:1/mcp', 'http://[::1]:1/a'],
    ...[
      'https://a.example:99999/',
      'https://[::',
      'https://a b',
      'https://%',
      'ftp://a.example',
      'https://u:p@a.example',
    ],
    ...['https://xn--a.example/', 'https://a..example/', 'https://1.2.3.4.5/', 'https://256.256.256.256/', 'https:///'],
    ...[
      '10.0.0.0/8',
      'fd00::/8',
      '10.0.0.0/99',
      'localhost:6379',
      '[::1]:6379',
      'a:b:c',
      '*.example',
      'a.example:70000',
    ],
    // Tool names that look like names of fields with files.
    ...['list_files', 'key_file'],
    ...['30s', '1h30m', '1.5h', '0s', '400d', '1ms', '/mcp', '/', '//a', '/%', '/a?b', '{workload}_', '/tmp/x'],
  ],
  // Pods are not in a document, and the test must not depend on files of this machine.
  without: new Set([
    ...['podTemplateSpec', 'resourceOverrides', 'resources', 'volumes', 'autoscaling', 'podDisruptionBudget'],
    ...['envFileDir', 'permissionProfile', 'logFile', 'publish', 'suspend', 'backendReplicas', 'allowedServers'],
  ]),
};

const specs = (schema: Parameters<typeof arbitraryValue>[0]) => arbitraryValue(schema, 'spec', KNOWN);

/** Random values rarely satisfy the rules between an authorization server and its endpoint. */
const serverWithLogins = fc
  .tuple(specs(VirtualMCPServerSpec), specs(AuthServerConfig), specs(UpstreamProvider))
  .map(([server, logins, provider]) => ({
    ...(server as object),
    incomingAuth: {
      type: 'oidc',
      resourceUrl: ENDPOINT,
      oidcConfig: { type: 'inline', inline: { issuer: ISSUER } },
    },
    authServerConfig: {
      ...(logins as object),
      issuer: ISSUER,
      primaryUpstreamProvider: 'idp',
      upstreamProviders: [{ ...(provider as object), name: 'idp', required: true }],
    },
  }));

export const arbitraryResources: fc.Arbitrary<Resources> = fc.record({
  server: fc.oneof(specs(VirtualMCPServerSpec), serverWithLogins),
  group: specs(MCPGroupSpec),
  backends: fc.record({ alpha: specs(MCPServerSpec), beta: specs(MCPServerSpec) }),
  auth: fc.record({ 'auth-a': specs(MCPExternalAuthConfigSpec), 'auth-b': specs(MCPExternalAuthConfigSpec) }),
  issuer: specs(MCPOIDCConfigSpec),
  configMap: fc
    .tuple(specs(InlineAuthz), specs(InlineOidc), fc.constantFrom(AUTHORITY, 'none'))
    .map(([authz, oidc, authorities]) => ({
      'authz.json': JSON.stringify(authz),
      'oidc.json': JSON.stringify(oidc),
      'ca.crt': authorities,
    })),
});

function manifest(kind: Kind, name: string, spec: unknown): Manifest {
  const metadata = { name, namespace: 'default', uid: `uid-of-${name}`, generation: 1 };
  return { apiVersion: 'vmcp.dev/v1alpha1', kind, metadata, spec };
}

/** Returns the snapshot of a folder with all resources. `keys`: the keys that the Secret has. */
export function folderContentOf(resources: Resources, keys: readonly string[]): FolderContent {
  const { server, group, backends, auth, issuer, configMap } = resources;
  const secret = Object.entries(SECRET).filter(([key]) => keys.includes(key));
  return {
    manifests: [
      manifest('VirtualMCPServer', 'server', server),
      manifest('MCPGroup', 'team', group),
      ...Object.entries(backends).map(([name, spec]) => manifest('MCPServer', name, spec)),
      ...Object.entries(auth).map(([name, spec]) => manifest('MCPExternalAuthConfig', name, spec)),
      manifest('MCPOIDCConfig', 'issuer', issuer),
    ],
    secrets: new Map([['default/secret', Object.fromEntries(secret)]]),
    configMaps: new Map([['default/config', { ...configMap }]]),
    sources: new Map(),
    problems: [],
    notices: [],
  };
}
