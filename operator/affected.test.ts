import { describe, expect, it } from '@jest/globals';
import { affected } from '#operator/affected';
import { keyText, type Kind, type Manifest, parseKey, type Snapshot } from '#operator/snapshot';

const manifest = (kind: Kind, name: string, spec: unknown, status?: unknown): Manifest => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind,
  metadata: { name, namespace: 'default' },
  spec,
  status,
});

const CLUSTER = { mode: 'cluster' as const, runtimeImage: 'x', allowHostPaths: false };

const byName = (...manifests: Manifest[]) => Object.fromEntries(manifests.map((one) => [one.metadata.name, one]));

const snapshot: Snapshot = {
  namespace: 'default',
  apiGroup: 'vmcp.dev',
  platform: { mode: 'local', directory: '/x', ports: {}, backendPorts: {}, uids: {}, loginDirectory: '/x/logins' },
  virtualMcpServers: byName(
    manifest('VirtualMCPServer', 'front', {
      config: { groupRef: 'tools' },
      incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'staff', audience: 'x' } },
    }),
    manifest('VirtualMCPServer', 'other', {
      config: { groupRef: 'others' },
      outgoingAuth: { source: 'inline', backends: { weather: { externalAuthConfigRef: { name: 'key' } } } },
    }),
    manifest('VirtualMCPServer', 'lonely', { config: { groupRef: 'none' }, incomingAuth: { type: 'anonymous' } }),
  ),
  mcpGroups: byName(
    manifest('MCPGroup', 'tools', {}),
    manifest('MCPGroup', 'others', {}, { referencedBy: [{ kind: 'VirtualMCPServer', name: 'gone' }] }),
  ),
  mcpServers: byName(
    manifest('MCPServer', 'weather', { groupRef: 'tools', externalAuthConfigRef: { name: 'exchange' } }),
    manifest('MCPServer', 'calendar', { groupRef: 'others', secrets: [{ name: 'pass', key: 'k' }] }),
  ),
  mcpExternalAuthConfigs: byName(
    manifest('MCPExternalAuthConfig', 'exchange', { tokenExchange: { clientSecretRef: { name: 'client', key: 's' } } }),
    manifest('MCPExternalAuthConfig', 'key', { headerInjection: { valueSecretRef: { name: 'api-key', key: 's' } } }),
  ),
  mcpOidcConfigs: byName(manifest('MCPOIDCConfig', 'staff', { inline: { caBundleRef: { name: 'ca' } } })),
  secrets: {},
  configMaps: {},
  generated: {},
  documents: {},
  observed: {},
};

const affectedBy = (text: string, there = snapshot) =>
  affected(parseKey(text), there)
    .map((key) => keyText(key).replace('/default/', '/'))
    .sort();

describe('affected', () => {
  it.each([
    ['Secret/default/client', ['MCPExternalAuthConfig/exchange', 'MCPServer/weather', 'VirtualMCPServer/front']],
    ['Secret/default/pass', ['MCPServer/calendar', 'VirtualMCPServer/other']],
    ['Secret/default/api-key', ['MCPExternalAuthConfig/key', 'VirtualMCPServer/other']],
    ['Secret/default/unused', []],
    ['ConfigMap/default/ca', ['MCPOIDCConfig/staff', 'VirtualMCPServer/front']],
    ['MCPOIDCConfig/default/staff', ['MCPOIDCConfig/staff', 'VirtualMCPServer/front']],
    [
      'MCPServer/default/weather',
      ['MCPExternalAuthConfig/exchange', 'MCPGroup/tools', 'MCPServer/weather', 'VirtualMCPServer/front'],
    ],
    ['MCPGroup/default/tools', ['MCPGroup/tools', 'MCPServer/weather', 'VirtualMCPServer/front']],
    ['VirtualMCPServer/default/lonely', ['VirtualMCPServer/lonely']],
  ])('returns the resources that depend on %s', (change, expected) => {
    expect(affectedBy(change)).toEqual(expected);
  });

  it('returns the programs that a local server has to restart, as its runtime reports completed restarts', () => {
    const asked = (status: object) => ({
      ...manifest('MCPServer', 'weather', { groupRef: 'tools' }, status),
      metadata: { name: 'weather', namespace: 'default', annotations: { 'vmcp.dev/restarted-at': '2026-01-01' } },
    });
    const waiting = { ...snapshot, mcpServers: byName(asked({})) };
    expect(affectedBy('VirtualMCPServer/default/front', waiting)).toContain('MCPServer/weather');
    const done = { ...snapshot, mcpServers: byName(asked({ restartedAt: '2026-01-01' })) };
    expect(affectedBy('VirtualMCPServer/default/front', done)).not.toContain('MCPServer/weather');
    const offered = { ...snapshot, mcpServers: byName(asked({ referencedBy: [{ name: 'front' }] })) };
    const cluster = { ...offered, platform: CLUSTER };
    expect(affectedBy('VirtualMCPServer/default/front', cluster)).not.toContain('MCPServer/weather');
  });

  it('returns the backends whose NetworkPolicy has to admit a server or stop admitting it, in a cluster', () => {
    const there = (status: object) => ({
      ...snapshot,
      platform: CLUSTER,
      mcpServers: byName(
        manifest('MCPServer', 'new', { groupRef: 'tools' }),
        manifest('MCPServer', 'known', { groupRef: 'tools' }, status),
        manifest('MCPServer', 'left', { groupRef: 'others' }, status),
      ),
    });
    const changed = affectedBy('VirtualMCPServer/default/front', there({ referencedBy: [{ name: 'front' }] }));
    expect(changed.filter((key) => key.startsWith('MCPServer/'))).toEqual(['MCPServer/left', 'MCPServer/new']);
  });

  it('returns the server that still serves a backend after the backend has left its group', () => {
    const left = manifest('MCPServer', 'weather', { groupRef: 'nowhere' });
    const before = 'backends:\n  - name: weather\n    url: https://weather.example/mcp\n';
    const moved = { ...snapshot, mcpServers: byName(left), documents: { front: before } };
    expect(affectedBy('MCPServer/default/weather', moved)).toContain('VirtualMCPServer/front');
  });

  it('returns the server whose status names a deleted backend that it left out', () => {
    const front = manifest(
      'VirtualMCPServer',
      'front',
      { config: { groupRef: 'tools' } },
      { backends: [{ name: 'bad' }] },
    );
    const gone = { ...snapshot, virtualMcpServers: byName(front) };
    expect(affectedBy('MCPServer/default/bad', gone)).toContain('VirtualMCPServer/front');
  });

  it('returns the resources that listed a deleted server', () => {
    expect(affectedBy('VirtualMCPServer/default/gone')).toEqual(['MCPGroup/others', 'VirtualMCPServer/gone']);
  });
});
