import { describe, expect, it } from '@jest/globals';
import type { Manifest } from '#operator/snapshot';
import { withHash } from './compare-objects.ts';
import { RolloutSlots, rollsUnasked } from './rollout-slots.ts';

const GROUP = 'vmcp.dev';

const podsOf = (name: string, image = 'vmcp-runtime:1', annotations = {}, namespace = 'ns') => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { namespace, name },
  spec: { template: { metadata: { annotations }, spec: { containers: [{ name: 'vmcp', image }] } } },
});

const owner = (kind: 'MCPServer' | 'VirtualMCPServer', observedGeneration?: number): Manifest => ({
  apiVersion: `${GROUP}/v1alpha1`,
  kind,
  metadata: { namespace: 'ns', name: 'demo', generation: 3 },
  spec: {},
  status: { observedGeneration },
});

describe('pods with another template', () => {
  const live = withHash(podsOf('mcp-demo'), GROUP);
  const upgraded = podsOf('mcp-demo', 'vmcp-runtime:2');

  it.each(['MCPServer', 'VirtualMCPServer'] as const)(
    'wait for a free rollout slot if no user has changed the %s',
    (kind) => {
      expect(rollsUnasked(upgraded, live, owner(kind, 3), GROUP)).toBe(true);
      expect(rollsUnasked(podsOf('mcp-demo'), live, owner(kind, 3), GROUP)).toBe(false);
    },
  );

  it("start at once after a user's change or a requested restart", () => {
    expect(rollsUnasked(upgraded, live, owner('MCPServer', 2), GROUP)).toBe(false);
    expect(rollsUnasked(upgraded, live, owner('MCPServer'), GROUP)).toBe(false);
    const restarted = podsOf('mcp-demo', 'vmcp-runtime:2', { [`${GROUP}/restarted-at`]: '2030-01-01T00:00:00Z' });
    expect(rollsUnasked(restarted, live, owner('MCPServer', 3), GROUP)).toBe(false);
  });
});

describe('rollout slots', () => {
  const LONGEST = 600_000;
  const [server, proxy, program] = ['vmcp-a', 'mcp-b-proxy', 'mcp-c'].map((name) => podsOf(name)) as [
    ReturnType<typeof podsOf>,
    ReturnType<typeof podsOf>,
    ReturnType<typeof podsOf>,
  ];

  it('limit servers and backends together', () => {
    const places = new RolloutSlots(() => 0);
    expect([places.take(server, 2), places.take(proxy, 2), places.take(program, 2)]).toEqual([true, true, false]);
    // A resource with a slot keeps it.
    expect(places.take(proxy, 2)).toBe(true);
    places.told(server, false);
    expect([places.take(program, 2), places.take(server, 2)]).toEqual([true, false]);
  });

  it('count rollouts for another reason', () => {
    const places = new RolloutSlots(() => 0);
    places.told(program, true);
    expect([places.take(server, 2), places.take(proxy, 2), places.take(program, 2)]).toEqual([true, false, true]);
    places.told(program, false);
    expect(places.take(proxy, 2)).toBe(true);
  });

  it('stay partly free of flapping workloads', () => {
    let now = 0;
    const places = new RolloutSlots(() => now);
    const flapping = Array.from({ length: 12 }, (_, nr) => podsOf(`mcp-flaps-${nr}`));
    for (; now < 2 * LONGEST; now += LONGEST / 4) {
      for (const one of flapping) places.told(one, false);
      for (const one of flapping) places.told(one, true);
      expect([places.take(server, 10), places.take(proxy, 10)]).toEqual([true, false]);
      places.told(server, false);
    }
    // A flapping workload has no more right to roll than the others.
    expect(flapping.map((one) => places.take(one, 10))).toEqual([true, ...Array<boolean>(11).fill(false)]);
  });

  it('go to all namespaces in turn, however many resources of one wait and however long its rollouts take', () => {
    let now = 0;
    const places = new RolloutSlots(() => now);
    const [crowded, other] = ['crowded', 'other'].map((namespace) =>
      Array.from({ length: 20 }, (_, nr) => podsOf(`mcp-${nr}`, undefined, undefined, namespace)),
    ) as [ReturnType<typeof podsOf>[], ReturnType<typeof podsOf>[]];
    const ask = (all: typeof crowded) => all.filter((one) => places.take(one, 4)).length;
    expect([ask(crowded), ask(other)]).toEqual([4, 0]);
    now = LONGEST - 3000;
    expect([ask(crowded.slice(4)), ask(other)]).toEqual([0, 0]);
    now = LONGEST;
    // None of them has progressed.
    expect(ask(crowded.slice(4))).toBe(0);
    expect([ask(other), ask(crowded.slice(4)), ask(other.slice(1)), ask(crowded.slice(5))]).toEqual([1, 1, 1, 1]);
    places.told(other[0] ?? server, false);
    expect([ask(crowded.slice(6)), ask(other.slice(2))]).toEqual([0, 1]);
    // A resource that stops waiting blocks no other.
    for (const one of other) places.told(one, false);
    now += 15_000;
    expect(ask(crowded.slice(6))).toBe(2);
  });

  it('do not all go to a namespace in which no rollout ends', () => {
    const places = new RolloutSlots(() => 0);
    const [first, second, third] = [server, proxy, program];
    const [quick, next] = ['mcp-x', 'mcp-y'].map((name) => podsOf(name, undefined, undefined, 'quick')) as [
      ReturnType<typeof podsOf>,
      ReturnType<typeof podsOf>,
    ];
    const take = (object: ReturnType<typeof podsOf>) => places.take(object, 3);
    expect([first, second, quick, third, next].map(take)).toEqual([true, true, true, false, false]);
    places.told(quick, false);
    // By turns alone, the third would be next.
    expect([third, next].map(take)).toEqual([false, true]);
  });

  it('alternate between namespaces even if there is only one', () => {
    const places = new RolloutSlots(() => 0);
    const [one, two, other] = [server, proxy, podsOf('mcp-x', undefined, undefined, 'other')];
    expect([one, two, other].map((object) => places.take(object, 1))).toEqual([true, false, false]);
    places.told(one, false);
    expect([two, other, two].map((object) => places.take(object, 1))).toEqual([false, true, false]);
    places.told(other, false);
    expect(places.take(two, 1)).toBe(true);
  });

  it('end after ten minutes, however often events arrive', () => {
    let now = 0;
    const places = new RolloutSlots(() => now);
    places.take(program, 1);
    places.told(program, true);
    now = LONGEST - 1;
    places.told(program, true);
    expect(places.take(server, 1)).toBe(false);
    now = LONGEST;
    expect(places.take(server, 1)).toBe(true);
    // It needs a slot again to roll once more.
    expect(places.take(program, 1)).toBe(false);
  });
});
