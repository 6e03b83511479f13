import { describe, expect, it } from '@jest/globals';
import { LoginNeeded } from '#runtime/authserver/user-tokens';
import type { Backend } from '#runtime/mcp/backends/backend';
import { NoAnswer, type Answer } from '#runtime/mcp/backends/ask';
import { callFailure } from '#runtime/mcp/backends/failures';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import type { Asker } from './asker.ts';
import { ListCache } from './list-cache.ts';

const MINUTE = 60_000;

const backendNamed = (name: string, perUser = false) => ({ name, credential: { perUser } }) as unknown as Backend;

function answer(...names: string[]): Answer {
  const result = { tools: names.map((name) => ({ name })) };
  return { text: JSON.stringify({ result }), result, error: undefined, sessionId: undefined, status: 200 };
}

/** Creates a cache and a caller, and controls the answers to the caller's next requests. */
function setUp() {
  const clock = { now: 0 };
  const arrived: string[] = [];
  const cache = new ListCache(
    () => clock.now,
    ({ name }, _kind, list, before) => arrived.push(`${name} ${list === before ? 'same' : 'other'}`),
  );
  const script: (Answer | Error)[] = [];
  const askerOf = (key: string): Asker => ({
    era: 'legacy',
    identity: { ...ANONYMOUS, key },
    capabilities: '{}',
    ask: () => {
      const next = script.shift();
      return next instanceof Error || next === undefined ? Promise.reject(next ?? silent('a')) : Promise.resolve(next);
    },
  });
  const namesOf = (backend: Backend, asker: Asker) =>
    cache.known(backend, 'tools', asker)?.list.entries.map(({ name }) => name);
  return { clock, arrived, cache, script, asker: askerOf('alice'), askerOf, namesOf };
}

const silent = (backend: string) => new NoAnswer(callFailure(backend, 'timeout', true));

describe('ListCache', () => {
  it('keeps no process alive while it waits for a list', async () => {
    const { cache, asker } = setUp();
    const backend = backendNamed('a');
    void cache.get(backend, 'tools', { ...asker, ask: () => new Promise(() => undefined) });
    const timers = () => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length;
    const before = timers();
    const waits = cache.arrivesWithin(backend, 'tools', asker, 50);
    expect(timers()).toBe(before);
    const awake = setTimeout(() => undefined, MINUTE);
    expect(await waits).toBe(false);
    clearTimeout(awake);
  });

  it('keeps the last list of a backend that no longer answers', async () => {
    const { clock, cache, script, asker, namesOf } = setUp();
    const backend = backendNamed('a');
    script.push(answer('x'));
    await cache.get(backend, 'tools', asker);
    expect(cache.known(backend, 'tools', asker)?.isFresh).toBe(true);
    clock.now += MINUTE;
    await expect(cache.get(backend, 'tools', asker)).rejects.toThrow();
    expect(namesOf(backend, asker)).toEqual(['x']);
    expect(cache.known(backend, 'tools', asker)?.isFresh).toBe(false);
  });

  it.each([
    ['refuses the credential', new NoAnswer(callFailure('a', 'unauthorized', true))],
    ['has no credential of the caller', new NoAnswer(callFailure('a', 'credential', false))],
    ['waits for a login', new NoAnswer({ reason: 'credential', sent: false, error: new LoginNeeded('okta') })],
  ])('serves no last list of a backend that %s', async (_name, refusal) => {
    const { clock, cache, script, asker, namesOf } = setUp();
    const backend = backendNamed('a');
    script.push(answer('x'), refusal);
    await cache.get(backend, 'tools', asker);
    clock.now += MINUTE;
    await expect(cache.get(backend, 'tools', asker)).rejects.toThrow();
    expect(namesOf(backend, asker)).toBeUndefined();
    // The cache still resolves the names of the list, so that they start the login.
    expect(cache.lastOf(backend, 'tools', asker)?.entries).toHaveLength(1);
  });

  it('drops the last list of a user with changed links and keeps those of others', async () => {
    const { cache, script, askerOf, namesOf } = setUp();
    const backend = backendNamed('a', true);
    script.push(answer('x'), answer('y'));
    await cache.get(backend, 'tools', askerOf('alice'));
    await cache.get(backend, 'tools', askerOf('bob'));
    cache.invalidateFor('alice');
    expect(namesOf(backend, askerOf('alice'))).toBeUndefined();
    expect(namesOf(backend, askerOf('bob'))).toEqual(['y']);
  });

  it('keeps a first list that changed during the read, and asks again', async () => {
    const { cache, script, asker, arrived, namesOf } = setUp();
    const backend = backendNamed('a');
    script.push(answer('x'), answer('x', 'y'));
    const first = cache.get(backend, 'tools', asker);
    cache.invalidate('a', 'tools');
    await first;
    expect(namesOf(backend, asker)).toEqual(['x']);
    expect(cache.known(backend, 'tools', asker)?.isFresh).toBe(false);
    expect(arrived).toEqual(['a other']);
    await cache.get(backend, 'tools', asker);
    expect(namesOf(backend, asker)).toEqual(['x', 'y']);
  });

  it.each([
    ['the settings', (cache: ListCache) => cache.drop('a')],
    ['the links of the caller', (cache: ListCache) => cache.invalidateFor('alice')],
  ])('drops a first list if %s changed during the read', async (_title, change) => {
    const { cache, script, asker, arrived, namesOf } = setUp();
    const backend = backendNamed('a', true);
    script.push(answer('x'));
    const first = cache.get(backend, 'tools', asker);
    change(cache);
    await first;
    expect(namesOf(backend, asker)).toBeUndefined();
    expect(arrived).toEqual([]);
  });

  it('drops lists of former settings, and pending ones', async () => {
    const { cache, script, asker, arrived, namesOf } = setUp();
    const [backend, other] = [backendNamed('a'), backendNamed('ab')];
    script.push(answer('x'), answer('z'), answer('y'));
    await cache.get(backend, 'tools', asker);
    await cache.get(other, 'tools', asker);
    cache.invalidate('a');
    const pending = cache.get(backend, 'tools', asker);
    cache.drop('a');
    await pending;
    expect(namesOf(backend, asker)).toBeUndefined();
    expect(namesOf(other, asker)).toEqual(['z']);
    expect(arrived).toEqual(['a other', 'ab other']);
  });

  it('reports whether the list that arrives differs', async () => {
    const { clock, cache, script, asker, arrived } = setUp();
    const backend = backendNamed('a');
    for (const names of [['x'], ['x'], ['x', 'y']]) {
      script.push(answer(...names));
      await cache.get(backend, 'tools', asker);
      clock.now += MINUTE;
    }
    expect(arrived).toEqual(['a other', 'a same', 'a other']);
  });

  it('treats a method-not-found answer as an empty list', async () => {
    const { cache, script, asker } = setUp();
    const unknown = { ...answer(), result: undefined, error: { code: -32601, data: undefined } };
    script.push(unknown);
    expect(await cache.get(backendNamed('a'), 'prompts', asker)).toMatchObject({ entries: [] });
  });

  it('counts the wait for a slow backend once, until it has listed something', async () => {
    const { clock, cache, script, asker } = setUp();
    const backend = backendNamed('a');
    expect(cache.waitLeft(backend, asker, 2_000)).toBe(2_000);
    clock.now = 10_000;
    cache.noteSlow(backend, asker, 250);
    expect(cache.waitLeft(backend, asker, 250)).toBe(0);
    expect(cache.waitLeft(backend, asker, 2_000)).toBe(1_750);
    clock.now += 5_000;
    cache.noteSlow(backend, asker, 250);
    expect(cache.waitLeft(backend, asker, 2_000)).toBe(0);
    script.push(answer('x'));
    await cache.get(backend, 'tools', asker);
    expect(cache.waitLeft(backend, asker, 2_000)).toBe(2_000);
  });

  it('counts the wait per user if the credential is the user’s own', () => {
    const { cache, askerOf } = setUp();
    const [own, shared] = [backendNamed('a', true), backendNamed('b')];
    for (const backend of [own, shared]) cache.noteSlow(backend, askerOf('mallory'), 2_000);
    expect(cache.waitLeft(own, askerOf('mallory'), 2_000)).toBe(0);
    expect(cache.waitLeft(own, askerOf('alice'), 2_000)).toBe(2_000);
    expect(cache.waitLeft(shared, askerOf('alice'), 2_000)).toBe(0);
    cache.drop('a');
    expect(cache.waitLeft(own, askerOf('mallory'), 2_000)).toBe(2_000);
  });

  it('drops users’ last lists, not shared ones, after possibly missed link events', async () => {
    const { cache, script, askerOf, namesOf } = setUp();
    const [own, shared] = [backendNamed('a', true), backendNamed('b')];
    script.push(answer('x'), answer('y'));
    await cache.get(own, 'tools', askerOf('alice'));
    await cache.get(shared, 'tools', askerOf('alice'));
    cache.invalidateFor(undefined);
    expect(namesOf(own, askerOf('alice'))).toBeUndefined();
    expect(namesOf(shared, askerOf('alice'))).toEqual(['y']);
  });

  it('shares equal lists between clients that differ only in their capabilities', async () => {
    const { cache, script, asker } = setUp();
    const backend = backendNamed('a');
    const listFor = (capabilities: string) => cache.get(backend, 'tools', { ...asker, capabilities });
    script.push(answer('x'), answer('x'), answer('y'));
    const first = await listFor('{}');
    expect(await listFor('{"roots":{}}')).toBe(first);
    expect(await listFor('{"sampling":{}}')).not.toBe(first);
  });

  it('asks again for a caller whose shared request ended with its session', async () => {
    const { cache, script, asker, askerOf } = setUp();
    const backend = backendNamed('a');
    script.push(new NoAnswer(callFailure('a', 'session_lost', false)), answer('x'));
    const [ended, other] = [cache.get(backend, 'tools', asker), cache.get(backend, 'tools', askerOf('bob'))];
    await expect(ended).rejects.toThrow('no longer knows this session');
    expect((await other).entries.map(({ name }) => name)).toEqual(['x']);
  });

  it('does not pass the failure of an ended session to the next caller', async () => {
    const { cache, script, asker, askerOf } = setUp();
    const backend = backendNamed('a');
    script.push(new NoAnswer(callFailure('a', 'session_lost', false)), answer('x'));
    await expect(cache.get(backend, 'tools', asker)).rejects.toThrow();
    expect((await cache.get(backend, 'tools', askerOf('bob'))).entries).toHaveLength(1);
  });
});
