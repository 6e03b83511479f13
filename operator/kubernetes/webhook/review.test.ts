import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { emptySnapshot } from '#operator/testdata/empty-snapshot';
import type { Manifest, Snapshot } from '#operator/snapshot';
import { review } from './review.ts';

const EMPTY = emptySnapshot({
  namespace: 'team',
  platform: {
    mode: 'cluster',
    runtimeImage: 'vmcp-runtime:1',
    allowHostPaths: false,
    operatorNamespace: 'vmcp-system',
  },
});

let made = 0;

function resource(kind: Manifest['kind'], name: string, spec: string | object): Manifest {
  made += 1;
  const metadata = { name, namespace: 'team', uid: `uid-${made}`, creationTimestamp: '2026-01-01T00:00:00Z' };
  return { apiVersion: 'vmcp.dev/v1alpha1', kind, metadata, spec: typeof spec === 'string' ? parse(spec) : spec };
}

const group = resource('MCPGroup', 'tools', {});

const embedded = (change = '') => `
config: { groupRef: tools }
incomingAuth:
  type: oidc
  resourceUrl: https://mcp.example.com/mcp
  oidcConfigRef: { name: own, audience: https://mcp.example.com/mcp }
authServerConfig:
  issuer: https://mcp.example.com
  upstreamProviders:
    - name: company
      type: oidc
      oidcConfig: { issuerUrl: https://login.example.com, clientId: vmcp, clientSecretRef: { name: login, key: secret } }
${change}`;

const policies = (...texts: string[]) => ({
  config: { groupRef: 'tools' },
  incomingAuth: {
    type: 'oidc',
    resourceUrl: 'https://mcp.example.com/mcp',
    oidcConfig: { type: 'inline', inline: { issuer: 'https://login.example.com' } },
    authzConfig: { type: 'inline', inline: { policies: texts } },
  },
});

const snapshot = (change: Partial<Snapshot> = {}): Snapshot => ({ ...EMPTY, mcpGroups: { tools: group }, ...change });

describe('review of an invalid resource', () => {
  it('refuses an unknown field, and names the nearest known one', () => {
    const spec = { config: { groupRef: 'tools' }, incomingAuth: { type: 'anonymous', authzConfg: {} } };
    const { allowed, message } = review({ manifest: resource('VirtualMCPServer', 'a', spec) }, snapshot());
    expect(allowed).toBe(false);
    expect(message).toContain('spec.incomingAuth.authzConfg: unknown field `authzConfg`; did you mean `authzConfig`?');
  });

  it.each([
    ['does not parse', 'permit(principal, action, resource', /policies\[0\]|policy/i],
    ['reads what resources do not have', 'permit(principal, action, resource) when { resource.sise > 1 };', /sise/],
    ['names an unknown action', 'permit(principal, action == Action::"tools/cal", resource);', /tools\/cal/],
  ])('refuses a policy that %s', (_what, policy, words) => {
    const { allowed, message } = review({ manifest: resource('VirtualMCPServer', 'a', policies(policy)) }, snapshot());
    expect(allowed).toBe(false);
    expect(message).toMatch(words);
  });

  it('refuses a policy beside a shared issuer that does not exist yet', () => {
    const change = '';
    const manifest = resource('VirtualMCPServer', 'a', embedded(change));
    const spec = manifest.spec as { incomingAuth: object };
    Object.assign(spec.incomingAuth, { authzConfig: { type: 'inline', inline: { policies: ['permit('] } } });
    expect(review({ manifest }, snapshot()).allowed).toBe(false);
  });

  it('refuses a policy of an MCPServer that is in no server yet', () => {
    const authzConfig = { type: 'inline', inline: { policies: ['forbid(principal, action, resource) when {'] } };
    const spec = { image: 'registry.example/everything:1', groupRef: 'tools', authzConfig };
    const { allowed, message } = review({ manifest: resource('MCPServer', 'b', spec) }, EMPTY);
    expect(allowed).toBe(false);
    expect(message).toContain('authzConfig');
  });

  it('refuses an audience that its authorization server does not issue, for each form of the issuer', () => {
    const spec = embedded().replace('audience: https://mcp.example.com/mcp', 'audience: something-else');
    const { allowed, message } = review({ manifest: resource('VirtualMCPServer', 'a', spec) }, snapshot());
    expect(allowed).toBe(false);
    expect(message).toContain('the audience must be the resourceUrl');
  });

  it('refuses an issuer that differs from that of its authorization server', () => {
    const spec = embedded().replace(
      'oidcConfigRef: { name: own, audience: https://mcp.example.com/mcp }',
      'oidcConfig: { type: inline, inline: { issuer: https://mcp.example.com/ } }',
    );
    const { allowed, message } = review({ manifest: resource('VirtualMCPServer', 'a', spec) }, snapshot());
    expect(allowed).toBe(false);
    expect(message).toContain('byte for byte');
  });

  it('refuses a primary provider that is not in its list', () => {
    const spec = embedded('  primaryUpstreamProvider: compny\n');
    const { allowed, message } = review({ manifest: resource('VirtualMCPServer', 'a', spec) }, snapshot());
    expect(allowed).toBe(false);
    expect(message).toContain('primaryUpstreamProvider');
  });

  it('refuses replicas without shared storage', () => {
    const spec = { config: { groupRef: 'tools' }, incomingAuth: { type: 'anonymous' }, replicas: 2 };
    const { allowed, message } = review({ manifest: resource('VirtualMCPServer', 'a', spec) }, snapshot());
    expect(allowed).toBe(false);
    expect(message).toContain('sessionStorage.provider redis');
  });

  it("refuses folders of the node without the administrator's permission", () => {
    const volumes = [{ name: 'etc', hostPath: '/etc', mountPath: '/etc' }];
    const spec = { image: 'registry.example/everything:1', groupRef: 'tools', volumes };
    const { allowed, message } = review({ manifest: resource('MCPServer', 'b', spec) }, snapshot());
    expect(allowed).toBe(false);
    expect(message).toContain('remove it; only the administrator of the operator can allow it');
  });

  it('refuses a command without an image, which a cluster cannot start', () => {
    const { allowed, message } = review({ manifest: resource('MCPServer', 'b', { command: ['node'] }) }, snapshot());
    expect(allowed).toBe(false);
    expect(message).toContain('write image, or remoteUrl');
  });

  it('admits a fault that existed before, so that a stricter rule blocks no later edit', () => {
    const old = resource('VirtualMCPServer', 'a', policies('permit('));
    const changed = { ...old, spec: { ...(old.spec as object), passthroughHeaders: ['X-Request-Id'] } };
    const { allowed, warnings } = review({ manifest: changed, former: old }, snapshot());
    expect(allowed).toBe(true);
    expect(warnings.join('\n')).toContain('authzConfig');
    const worse = { ...old, spec: { ...(old.spec as object), replicas: 2 } };
    expect(review({ manifest: worse, former: old }, snapshot()).allowed).toBe(false);
  });
});

describe('review of dependencies', () => {
  it('does not warn of a missing group, Secret, ConfigMap, credential or issuer, which may follow', () => {
    const named = (kind: Manifest['kind'], spec: object) => review({ manifest: resource(kind, 'a', spec) }, EMPTY);
    const policiesOf = { type: 'configMap', configMap: { name: 'policies', key: 'authz.json' } };
    const withPolicies = policies();
    Object.assign(withPolicies.incomingAuth, { authzConfig: policiesOf });
    const backend = {
      image: 'registry.example/everything:1',
      groupRef: 'tools',
      externalAuthConfigRef: { name: 'token' },
      secrets: [{ name: 'api', key: 'key', targetEnvName: 'API_KEY' }],
    };
    const found = [
      review({ manifest: resource('VirtualMCPServer', 'a', embedded()) }, EMPTY),
      named('VirtualMCPServer', withPolicies),
      named('MCPServer', backend),
      named('MCPExternalAuthConfig', { type: 'bearerToken', bearerToken: { tokenSecretRef: { name: 'x', key: 'y' } } }),
    ];
    for (const { allowed, warnings } of found)
      expect([allowed, warnings.filter((text) => /does not exist|not in|no backend|missing/i.test(text))]).toEqual([
        true,
        [],
      ]);
  });

  it('does not warn of a server for a member that names its own objects', () => {
    const server = resource('VirtualMCPServer', 'front', {
      config: { groupRef: 'tools' },
      incomingAuth: { type: 'anonymous' },
    });
    const backend = resource('MCPServer', 'calendar', {
      remoteUrl: 'https://calendar.example.com/mcp',
      groupRef: 'tools',
      externalAuthConfigRef: { name: 'token' },
    });
    expect(review({ manifest: backend }, snapshot({ virtualMcpServers: { front: server } })).warnings).toEqual([]);
  });

  it('warns of a Secret without the named key', () => {
    const spec = { type: 'bearerToken', bearerToken: { tokenSecretRef: { name: 'x', key: 'tokn' } } };
    const { warnings } = review(
      { manifest: resource('MCPExternalAuthConfig', 'a', spec) },
      snapshot({ secrets: { x: { token: '0123456789abcdef' } } }),
    );
    expect(warnings).toContainEqual(expect.stringContaining('Secret "x" has no key "tokn"'));
  });

  it.each([
    ['oidcConfig', { type: 'inline', inline: { issuer: 'https://other.example.com' } }],
    ['oidcConfigRef', { name: 'shared', audience: 'b' }],
  ])('admits own policies that read callers of %s, and warns if a server has other callers', (field, issuer) => {
    const authzConfig = {
      type: 'inline',
      inline: { policies: ['permit(principal == Client::"ada", action, resource);'] },
    };
    const spec = { image: 'registry.example/everything:1', groupRef: 'tools', [field]: issuer, authzConfig };
    const manifest = resource('MCPServer', 'b', spec);
    expect(review({ manifest }, EMPTY)).toMatchObject({ allowed: true });
    const a = resource('VirtualMCPServer', 'a', policies());
    const shared = resource('MCPOIDCConfig', 'shared', {
      type: 'inline',
      inline: { issuer: 'https://other.example.com' },
    });
    const { allowed, warnings } = review(
      { manifest },
      snapshot({ virtualMcpServers: { a }, mcpOidcConfigs: { shared } }),
    );
    expect(allowed).toBe(true);
    expect(warnings).toContainEqual(
      expect.stringMatching(/^VirtualMCPServer "a": b: .*its policies read the principal/),
    );
  });

  it('warns of a differing issuer in a shared configuration, as either may change', () => {
    const own = resource('MCPOIDCConfig', 'own', { type: 'inline', inline: { issuer: 'https://other.example.com' } });
    const { allowed, warnings } = review(
      { manifest: resource('VirtualMCPServer', 'a', embedded()) },
      snapshot({ mcpOidcConfigs: { own } }),
    );
    expect(allowed).toBe(true);
    expect(warnings).toContainEqual(expect.stringContaining('byte for byte'));
  });

  it('warns of an invalid policy in a ConfigMap', () => {
    const spec = policies();
    const authzConfig = { type: 'configMap', configMap: { name: 'policies', key: 'authz.json' } };
    Object.assign(spec.incomingAuth, { authzConfig });
    const { allowed, warnings } = review(
      { manifest: resource('VirtualMCPServer', 'a', spec) },
      snapshot({ configMaps: { policies: { 'authz.json': '{"policies":["permit("]}' } } }),
    );
    expect(allowed).toBe(true);
    expect(warnings).toContainEqual(expect.stringContaining('policies'));
  });

  it('warns the author of credentials of a provider that a server lacks', () => {
    const own = resource('MCPOIDCConfig', 'own', { type: 'inline', inline: { issuer: 'https://mcp.example.com' } });
    const server = resource('VirtualMCPServer', 'front', embedded());
    const backend = resource('MCPServer', 'calendar', {
      remoteUrl: 'https://calendar.example.com/mcp',
      groupRef: 'tools',
      externalAuthConfigRef: { name: 'token' },
    });
    const config = (providerName: string) =>
      resource('MCPExternalAuthConfig', 'token', { type: 'upstreamInject', upstreamInject: { providerName } });
    const before = snapshot({
      virtualMcpServers: { front: server },
      mcpServers: { calendar: backend },
      mcpOidcConfigs: { own },
      mcpExternalAuthConfigs: { token: config('company') },
      secrets: { login: { secret: '0123456789abcdef' } },
      generated: { front: { sealing: '0123456789abcdef', statusToken: '0123456789abcdef' } },
    });
    const { allowed, warnings } = review({ manifest: config('compny'), former: config('company') }, before);
    expect(allowed).toBe(true);
    expect(warnings).toEqual([
      expect.stringMatching(/VirtualMCPServer "front": calendar: .*"compny".*write "company"/),
    ]);
    expect(review({ manifest: config('company') }, before).warnings).toEqual([]);
    // Faults that existed before this edit cause no warning.
    const other = resource('MCPServer', 'other', { remoteUrl: 'https://b.example.com/mcp', groupRef: 'tools' });
    const lacking = { ...before, mcpExternalAuthConfigs: { token: config('compny') } };
    expect(review({ manifest: other }, lacking).warnings).toEqual([]);
  });

  it('limits the number and length of warnings', () => {
    const backends = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => {
        const name = `backend-${index}`;
        const spec = {
          remoteUrl: 'https://b.example.com/mcp',
          groupRef: 'tools',
          externalAuthConfigRef: { name: `a${index}` },
        };
        return [name, resource('MCPServer', name, spec)];
      }),
    );
    const configs = Array.from({ length: 40 }, (_, index) => {
      const tokenSecretRef = { name: 'x', key: `absent-${index}` };
      return [
        `a${index}`,
        resource('MCPExternalAuthConfig', `a${index}`, { type: 'bearerToken', bearerToken: { tokenSecretRef } }),
      ];
    });
    const spec = { config: { groupRef: 'tools' }, incomingAuth: { type: 'anonymous' } };
    const generated = { a: { sealing: '0123456789abcdef', statusToken: '0123456789abcdef' } };
    const { warnings } = review(
      { manifest: resource('VirtualMCPServer', 'a', spec) },
      snapshot({
        mcpServers: backends,
        mcpExternalAuthConfigs: Object.fromEntries(configs),
        secrets: { x: {} },
        generated,
      }),
    );
    expect(warnings).toHaveLength(11);
    expect(warnings.at(-1)).toMatch(/^and \d+ more/);
    expect(Math.max(...warnings.map((text) => text.length))).toBeLessThanOrEqual(250);
  });
});

describe('review of a valid resource', () => {
  it.each<[Manifest['kind'], object]>([
    [
      'VirtualMCPServer',
      { config: { groupRef: 'tools' }, incomingAuth: { type: 'oidc', oidcConfig: { type: 'kubernetes' } } },
    ],
    ['MCPServer', { image: 'registry.example/everything:1', groupRef: 'tools' }],
    ['MCPServer', { remoteUrl: 'https://b.example.com/mcp', externalAuthConfigRef: { name: 'not-yet' } }],
    ['MCPGroup', { description: 'tools' }],
    [
      'MCPExternalAuthConfig',
      { type: 'bearerToken', bearerToken: { tokenSecretRef: { name: 'not-yet', key: 'token' } } },
    ],
    ['MCPOIDCConfig', { type: 'kubernetesServiceAccount' }],
  ])('admits it, whatever it still lacks: %s %j', (kind, spec) => {
    expect(review({ manifest: resource(kind, 'a', spec) }, EMPTY)).toMatchObject({ allowed: true });
  });
});

it('admits a server named like a property of Object.prototype', () => {
  const spec = { config: { groupRef: 'tools' }, incomingAuth: { type: 'anonymous' } };
  const backend = resource('MCPServer', 'calendar', {
    remoteUrl: 'https://calendar.example.com/mcp',
    groupRef: 'tools',
  });
  const before = snapshot({ mcpServers: { calendar: backend } });
  expect(review({ manifest: resource('VirtualMCPServer', 'constructor', spec) }, before).allowed).toBe(true);
});
