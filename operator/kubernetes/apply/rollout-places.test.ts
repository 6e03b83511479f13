import { describe, expect, it } from '@jest/globals';
import type { Manifest } from '#operator/world';
import { withHash } from './compare-objects.ts';
import { RolloutPlaces, rollsUnasked } from './rollout-places.ts';

const GROUP = 'vmcp.dev';

const podsOf = (name: string, image = 'vmcp-runtime:1', annotations = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { namespace: 'ns', name },
  spec: { template: { metadata: { annotations }, spec: { containers: [{ name: 'vmcp', image }] } } },
});

const owner = (kind: 'MCPServer' | 'VirtualMCPServer', observedGeneration?: number): Manifest => ({
  apiVersion: `${GROUP}/v1alpha1`,
  kind,
  metadata: { namespace: 'ns', name: 'demo', generation: 3 },
  spec: {},
  status: { observedGeneration },
});

describe('pods of another shape', () => {
  const live = withHash(podsOf('mcp-demo'), GROUP);
  const upgraded = podsOf('mcp-demo', 'vmcp-runtime:2');

  it.each(['MCPServer', 'VirtualMCPServer'] as const)(
    'of a %s that nobody changed are for a place to be free',
    (kind) => {
      expect(rollsUnasked(upgraded, live, owner(kind, 3), GROUP)).toBe(true);
      expect(rollsUnasked(podsOf('mcp-demo'), live, owner(kind, 3), GROUP)).toBe(false);
    },
  );

  it('come at once where somebody changed the resource, or asked for a restart', () => {
    expect(rollsUnasked(upgraded, live, owner('MCPServer', 2), GROUP)).toBe(false);
    expect(rollsUnasked(upgraded, live, owner('MCPServer'), GROUP)).toBe(false);
    const restarted = podsOf('mcp-demo', 'vmcp-runtime:2', { [`${GROUP}/restarted-at`]: '2030-01-01T00:00:00Z' });
    expect(rollsUnasked(restarted, live, owner('MCPServer', 3), GROUP)).toBe(false);
  });
});

describe('places of what rolls', () => {
  const LONGEST = 600_000;
  const [server, proxy, program] = ['vmcp-a', 'mcp-b-proxy', 'mcp-c'].map((name) => podsOf(name)) as [
    ReturnType<typeof podsOf>,
    ReturnType<typeof podsOf>,
    ReturnType<typeof podsOf>,
  ];

  it('are as many as there may be, for servers and backends together', () => {
    const places = new RolloutPlaces(() => 0);
    expect([places.take(server, 2), places.take(proxy, 2), places.take(program, 2)]).toEqual([true, true, false]);
    // Who has one keeps it.
    expect(places.take(proxy, 2)).toBe(true);
    places.told(server, false);
    expect([places.take(program, 2), places.take(server, 2)]).toEqual([true, false]);
  });

  it('are also taken by what rolls for another reason', () => {
    const places = new RolloutPlaces(() => 0);
    places.told(program, true);
    expect([places.take(server, 1), places.take(program, 1)]).toEqual([false, true]);
    places.told(program, false);
    expect(places.take(server, 1)).toBe(true);
  });

  it('are free again of what is not done in ten minutes, however often it is heard of', () => {
    let now = 0;
    const places = new RolloutPlaces(() => now);
    places.told(program, true);
    now = LONGEST - 1;
    places.told(program, true);
    expect(places.take(server, 1)).toBe(false);
    now = LONGEST;
    expect(places.take(server, 1)).toBe(true);
    // To roll once more it has to have a place again.
    expect(places.take(program, 1)).toBe(false);
  });
});
