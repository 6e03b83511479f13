import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Aggregation } from '#crds/run-config/aggregation';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { NoAnswer, type Answer } from '#runtime/mcp/backends/ask';
import type { Backend } from '#runtime/mcp/backends/backend';
import { callFailure } from '#runtime/mcp/backends/failures';
import { unknownHealth } from '#runtime/mcp/backends/health';
import { createLog } from '#runtime/telemetry/create-log';
import { AppUris } from './app-uris.ts';
import type { Asker } from './asker.ts';
import { gatherLists } from './gather-lists.ts';
import { ListCache } from './list-cache.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

type Answering = 'answers' | 'hangs' | 'refuses' | 'forbids' | 'is gone';

/** Creates backends with one tool of a unique name each, and controls how they answer. */
function setUp(...names: string[]) {
  const how = new Map<string, Answering>();
  const waiting: (() => void)[] = [];
  const lists = new ListCache(
    () => Date.now(),
    () => undefined,
  );
  const backends = names.map(
    (name) =>
      ({
        name,
        config: { name, tools_override: {} },
        credential: { perUser: false },
        health: unknownHealth(() => 0),
      }) as unknown as Backend,
  );
  const asker: Asker = {
    era: 'legacy',
    identity: ANONYMOUS,
    capabilities: '{}',
    ask: ({ name }) => {
      const answer = listing(name);
      if (how.get(name) === 'refuses') return Promise.reject(new NoAnswer(callFailure(name, 'unauthorized', true)));
      // Simulates HTTP 403.
      if (how.get(name) === 'forbids') return Promise.reject(new NoAnswer(callFailure(name, 'protocol', true)));
      if (how.get(name) === 'is gone') return Promise.reject(new NoAnswer(callFailure(name, 'unavailable', false)));
      if (how.get(name) !== 'hangs') return Promise.resolve(answer);
      return new Promise((resolve) => waiting.push(() => resolve(answer)));
    },
  };
  let missesAway = false;
  const gather = (by: Asker = asker) =>
    gatherLists('tools', by, {
      backends: () => backends,
      aggregation: () => Aggregation.parse({}),
      maxNameLength: () => 60,
      listDeadline: () => 5_000,
      missesAway: () => missesAway,
      lists,
      apps: new AppUris({ backends: () => [], lists, sessionIdle: () => 0, now: () => 0 }),
      log: createLog('error', new Writable()),
    });
  return {
    lists,
    asker,
    how,
    waiting,
    gather,
    healthOf: (name: string) => backends.find((one) => one.name === name)!.health,
    wantWhole: () => (missesAway = true),
    /**
     * Returns the backends whose list has arrived after this many milliseconds. Undefined: the gathering still waits.
     */
    after: async (ms: number, { gathering }: ReturnType<typeof gather>) => {
      const state = { isDone: false };
      void gathering.done.then(() => (state.isDone = true));
      await jest.advanceTimersByTimeAsync(ms);
      return state.isDone ? gathering.lists.map(({ backend }) => backend.name) : undefined;
    },
  };
}

function listing(name: string): Answer {
  const result = { tools: [{ name }] };
  return { text: JSON.stringify({ result }), result, error: undefined, sessionId: undefined, status: 200 };
}

describe('gatherLists', () => {
  it('waits 250 ms for a backend that has listed before, then takes its last list', async () => {
    const { how, gather, after, lists } = setUp('a', 'b');
    expect(await after(0, gather())).toEqual(['a', 'b']);
    how.set('b', 'hangs');
    lists.invalidate('b');
    const gathered = gather();
    expect(await after(249, gathered)).toBeUndefined();
    expect(await after(1, gathered)).toEqual(['a', 'b']);
    expect(gathered.late).toEqual(['b']);
    expect(gathered.missing).toEqual([]);
    expect(await after(1, gather())).toEqual(['a', 'b']);
  });

  it('waits 2 s once for a backend that has never listed, then omits it until it lists', async () => {
    const { how, gather, after, waiting } = setUp('a', 'b');
    how.set('b', 'hangs');
    const first = gather();
    expect(await after(1_999, first)).toBeUndefined();
    expect(await after(1, first)).toEqual(['a']);
    expect(first.failures.get('b')?.message).toContain('did not list what it has in time');
    expect(await after(1, gather())).toEqual(['a']);
    for (const answer of waiting) answer();
    await jest.advanceTimersByTimeAsync(0);
    expect(await after(0, gather())).toEqual(['a', 'b']);
  });

  it('takes the last list of an unreachable backend, at once if the failure is known', async () => {
    const { how, gather, after, lists, healthOf } = setUp('a');
    await after(0, gather());
    how.set('a', 'is gone');
    lists.invalidate('a');
    expect(await after(0, gather())).toEqual(['a']);
    healthOf('a').phase = 'unavailable';
    how.set('a', 'hangs');
    lists.invalidate('a');
    expect(await after(0, gather())).toEqual(['a']);
  });

  it.each<Answering>(['refuses', 'forbids'])(
    'takes no last list of a backend that %s the credential',
    async (answer) => {
      const { how, gather, after, lists } = setUp('a');
      await after(0, gather());
      how.set('a', answer);
      lists.invalidate('a');
      expect(await after(0, gather())).toEqual([]);
      how.set('a', 'hangs');
      lists.invalidate('a');
      expect(await after(2_000, gather())).toEqual([]);
    },
  );

  it('takes no last list of an absent backend if lists must be complete', async () => {
    const { gather, after, wantWhole, healthOf } = setUp('a', 'b');
    await after(0, gather());
    wantWhole();
    healthOf('b').phase = 'unavailable';
    const gathered = gather();
    expect(await after(0, gathered)).toEqual(['a']);
    expect(gathered.missing).toEqual(['b']);
  });

  it('takes the last list of a backend that now speaks only the other revision', async () => {
    const { gather, after, healthOf } = setUp('a');
    await after(0, gather());
    Object.assign(healthOf('a'), { phase: 'unavailable', eras: new Set(['modern']) });
    expect(await after(0, gather())).toEqual(['a']);
  });

  it('takes the last list if a new read would have to start a process', async () => {
    const { gather, after, lists, asker, how } = setUp('a');
    await after(0, gather());
    lists.invalidate('a');
    how.set('a', 'is gone');
    const gathered = gather({ ...asker, mayRefresh: () => false });
    expect(await after(0, gathered)).toEqual(['a']);
    expect(gathered.late).toEqual(['a']);
  });
});
