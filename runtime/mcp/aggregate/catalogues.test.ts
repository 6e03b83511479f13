import { Writable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { Aggregation } from '#crds/run-config/aggregation';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import type { Answer } from '#runtime/mcp/backends/ask';
import type { Backend } from '#runtime/mcp/backends/backend';
import { unknownHealth } from '#runtime/mcp/backends/health';
import { createLog } from '#runtime/telemetry/create-log';
import type { Asker } from './asker.ts';
import { Catalogues } from './catalogues.ts';
import { ListCache } from './list-cache.ts';

const DEADLINE = 60_000;

function backendNamed(name: string): Backend {
  const settings = { name, config: { name, tools_override: {} }, credential: { perUser: false } };
  return { ...settings, health: unknownHealth(() => 0) } as unknown as Backend;
}

/** Creates backends that answer a list when `answer` is called. Each has the tool `x`. */
function setUp(...names: string[]) {
  const backends = names.map(backendNamed);
  const clock = { now: 0 };
  const waiting = new Map<string, () => void>();
  const lists = new ListCache(
    () => clock.now,
    (backend, kind, list, before) => void catalogues.noteArrival(backend.name, kind, list, before),
  );
  const catalogues = new Catalogues({
    backends: () => backends,
    aggregation: () => Aggregation.parse({}),
    maxNameLength: () => 60,
    listDeadline: () => DEADLINE,
    missesAway: () => false,
    lists,
    now: () => clock.now,
    sessionIdle: () => 0,
    log: createLog('error', new Writable()),
  });
  const asker: Asker = {
    era: 'legacy',
    identity: ANONYMOUS,
    capabilities: '{}',
    ask: ({ name }) => new Promise((resolve) => waiting.set(name, () => resolve(listing()))),
  };
  const [first] = backends;
  return { catalogues, lists, asker, clock, first: first!, answer: (name: string) => waiting.get(name)?.() };
}

function listing(more: { ttlMs?: number } = {}): Answer {
  const result = { tools: [{ name: 'x' }], ...more };
  return { text: JSON.stringify({ result }), result, error: undefined, sessionId: undefined, status: 200 };
}

describe('Catalogues', () => {
  it('serves a call when its own backend has listed, while another backend hangs', async () => {
    const { catalogues, lists, asker, first, answer } = setUp('own', 'other');
    // The list no longer waits for this backend, so the name fails at once.
    lists.noteSlow(first, asker, 2_000);
    const catalogue = catalogues.of(asker);
    const failed = await catalogues.find(catalogue, 'tools', 'own_x', asker);
    expect(failed?.failure).toBeDefined();
    const listed = catalogues.whenListed(failed, catalogue, 'tools', asker);
    answer('own');
    const begun = performance.now();
    expect(await listed).toMatchObject({ name: 'own_x', backend: 'own', originalName: 'x' });
    // A list waits 2 s for the other backend.
    expect(performance.now() - begun).toBeLessThan(1_000);
    answer('other');
  });

  it('does not list again at each call if the list expires at once', async () => {
    const { catalogues, asker, clock } = setUp('own');
    let asked = 0;
    const ask = () => {
      asked += 1;
      return Promise.resolve(listing({ ttlMs: 0 }));
    };
    const catalogue = catalogues.of(asker);
    const find = () => catalogues.find(catalogue, 'tools', 'own_x', { ...asker, ask });
    for (let calls = 0; calls < 20; calls += 1) expect(await find()).toMatchObject({ backend: 'own' });
    expect(asked).toBe(1);
    // A client that lists gets a new list.
    await catalogues.list(catalogue, 'tools', { ...asker, ask });
    expect(asked).toBe(2);
    clock.now = 10_000;
    for (let calls = 0; calls < 20; calls += 1) expect(await find()).toMatchObject({ backend: 'own' });
    expect(asked).toBe(3);
  });
});
