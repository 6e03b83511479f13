import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RUN_CONFIG_VERSION } from '#crds/run-config/run-config';
import { emptySnapshot } from '#operator/testdata/empty-snapshot';
import type { ClusterFacts, Manifest } from '#operator/snapshot';
import { backendChild, credentialsOf, metricsOf, runtimeChildOf, sealingOf } from './child-names.ts';
import type { Child } from './outcome.ts';
import { plan } from './plan.ts';

const cluster: ClusterFacts = { mode: 'cluster', runtimeImage: 'runtime:1', allowHostPaths: false, stdioAttach: true };

const SPECS: Record<string, [kind: Manifest['kind'], spec: object]> = {
  server: [
    'VirtualMCPServer',
    { config: { groupRef: 'tools' }, incomingAuth: { type: 'anonymous' }, autoscaling: { maxReplicas: 1 } },
  ],
  programAndEndpoint: ['MCPServer', { image: 'a:1', backendReplicas: 2, proxyPort: 9000 }],
  stdio: ['MCPServer', { image: 'a:1', transport: 'stdio', command: ['run'], proxyPort: 9000 }],
  attached: ['MCPServer', { image: 'a:1', transport: 'stdio' }],
};

const PIECES = ['a', 'b', 'x', 'proxy', 'pods', 'metrics', 'credentials', 'sealing', 'bridge', RUN_CONFIG_VERSION];
const name = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join('-'));

/** Returns every object of a resource as `<kind>/<name>`: those of its plan and the Secrets of the platform. */
function objectsOf(type: string, called: string): string[] {
  const [kind, spec] = SPECS[type] ?? [];
  if (kind === undefined) throw new Error(type);
  const metadata = { name: called, namespace: 'default', uid: 'u', generation: 1 };
  const manifest: Manifest = { apiVersion: 'vmcp.dev/v1alpha1', kind, metadata, spec };
  const snapshot = emptySnapshot({
    platform: cluster,
    virtualMcpServers: kind === 'VirtualMCPServer' ? { [called]: manifest } : {},
    mcpServers: kind === 'MCPServer' ? { [called]: manifest } : {},
    mcpGroups: {
      tools: { ...manifest, kind: 'MCPGroup', metadata: { ...metadata, name: 'tools' }, spec: {} },
    },
    generated: {
      [called]: { sealing: 'a'.repeat(16), statusToken: 'b'.repeat(16) },
      [`MCPServer/${called}`]: { sealing: 'a'.repeat(16), statusToken: 'b'.repeat(16) },
    },
  });
  const { children } = plan({ kind, namespace: 'default', name: called }, snapshot, '2026-01-02T03:04:05Z');
  const planned = children.map((child: Child) =>
    child.platform === 'cluster' ? `${child.object.kind}/${child.object.metadata.name}` : '',
  );
  const runtime = runtimeChildOf({ kind, name: called });
  return [...planned, ...[credentialsOf(runtime), sealingOf(runtime)].map((secret) => `Secret/${secret}`)];
}

describe('child names', () => {
  it('never gives two resources the same object', () => {
    const type = fc.constantFrom(...Object.keys(SPECS));
    fc.assert(
      fc.property(type, name, type, name, (typeA, a, typeB, b) => {
        fc.pre(a !== b || SPECS[typeA]?.[0] !== SPECS[typeB]?.[0]);
        const others = new Set(objectsOf(typeB, b));
        expect(objectsOf(typeA, a).filter((object) => others.has(object))).toEqual([]);
      }),
      { numRuns: 500, examples: [['programAndEndpoint', 'foo', 'programAndEndpoint', 'foo-proxy']] },
    );
  });

  it('renders objects for each of the shapes', () => {
    const kinds = Object.keys(SPECS).map((type) => new Set(objectsOf(type, 'a').map((id) => id.split('/')[0])));
    for (const found of kinds) expect(found.size).toBeGreaterThan(1);
    const all = Object.keys(SPECS).flatMap((type) => objectsOf(type, 'a'));
    expect(all).toEqual(expect.arrayContaining(['Deployment/mcp-a', 'Deployment/mcp-a-proxy', 'Service/mcp-a-pods']));
    expect(all).toEqual(expect.arrayContaining([`ConfigMap/mcp-a-bridge-${RUN_CONFIG_VERSION}`, 'StatefulSet/mcp-a']));
  });

  it('keeps the names of earlier versions where they cannot collide', () => {
    expect(['a', 'a-proxy-b', 'proxy', 'a-x'].map(backendChild)).toEqual([
      'mcp-a',
      'mcp-a-proxy-b',
      'mcp-proxy',
      'mcp-a-x',
    ]);
    expect(['a-proxy', 'a-pods', 'a-proxy-x'].map(backendChild)).toEqual([
      'mcp-a-proxy-x',
      'mcp-a-pods-x',
      'mcp-a-proxy-x-x',
    ]);
    expect(runtimeChildOf({ kind: 'MCPServer', name: 'a-proxy' })).toBe('mcp-a-proxy-proxy');
  });

  it('fits the longest name of a resource into the 63 characters of a Service name', () => {
    const longest = `${'a'.repeat(39)}-proxy`;
    const all = Object.keys(SPECS).flatMap((type) => objectsOf(type, longest));
    const services = all.filter((id) => id.startsWith('Service/')).map((id) => id.slice('Service/'.length));
    expect(Math.max(...services.map((service) => service.length))).toBeLessThanOrEqual(63);
    expect(metricsOf(runtimeChildOf({ kind: 'MCPServer', name: longest }))).toHaveLength(63);
  });
});
