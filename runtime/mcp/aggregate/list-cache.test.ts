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

/** A cache, a caller, and what its next questions get. */
function setUp() {
  const clock = { now: 0 };
  const arrived: string[] = [];
  const cache = new ListCache(
    () => clock.now,
    ({ name }, _kind, list, before) => arrived.push(`${name} ${list === before ? 'same' : 'other'}`),
  );
  const script: (Answer | Error)[] = [];
  const askerOf = (key: string): Asker => ({
    era: 'session',
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

  it('keeps the last list of a backend that does not answer any more', async () => {
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
    // What its names lead to is still known, so that they lead to the login.
    expect(cache.lastOf(backend, 'tools', asker)?.entries).toHaveLength(1);
  });

  it('serves no last list of a user whose links have changed, and those of others as before', async () => {
    const { cache, script, askerOf, namesOf } = setUp();
    const backend = backendNamed('a', true);
    script.push(answer('x'), answer('y'));
    await cache.get(backend, 'tools', askerOf('alice'));
    await cache.get(backend, 'tools', askerOf('bob'));
    cache.invalidateFor('alice');
    expect(namesOf(backend, askerOf('alice'))).toBeUndefined();
    expect(namesOf(backend, askerOf('bob'))).toEqual(['y']);
  });

  it('keeps a first list that changed while it was read, and asks again', async () => {
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
  ])('drops a first list while which %s changed', async (_title, change) => {
    const { cache, script, asker, arrived, namesOf } = setUp();
    const backend = backendNamed('a', true);
    script.push(answer('x'));
    const first = cache.get(backend, 'tools', asker);
    change(cache);
    await first;
    expect(namesOf(backend, asker)).toBeUndefined();
    expect(arrived).toEqual([]);
  });

  it('drops what was listed under other settings, and what is still on its way', async () => {
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

  it('tells whether the list that arrives is another', async () => {
    const { clock, cache, script, asker, arrived } = setUp();
    const backend = backendNamed('a');
    for (const names of [['x'], ['x'], ['x', 'y']]) {
      script.push(answer(...names));
      await cache.get(backend, 'tools', asker);
      clock.now += MINUTE;
    }
    expect(arrived).toEqual(['a other', 'a same', 'a other']);
  });

  it('takes the answer that a method is unknown for an empty list', async () => {
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

  it('counts the wait for each user apart where the credential is the user’s own', () => {
    const { cache, askerOf } = setUp();
    const [own, shared] = [backendNamed('a', true), backendNamed('b')];
    for (const backend of [own, shared]) cache.noteSlow(backend, askerOf('mallory'), 2_000);
    expect(cache.waitLeft(own, askerOf('mallory'), 2_000)).toBe(0);
    expect(cache.waitLeft(own, askerOf('alice'), 2_000)).toBe(2_000);
    expect(cache.waitLeft(shared, askerOf('alice'), 2_000)).toBe(0);
    cache.drop('a');
    expect(cache.waitLeft(own, askerOf('mallory'), 2_000)).toBe(2_000);
  });

  it('serves no user’s last list after news of links may have been missed, and shared ones as before', async () => {
    const { cache, script, askerOf, namesOf } = setUp();
    const [own, shared] = [backendNamed('a', true), backendNamed('b')];
    script.push(answer('x'), answer('y'));
    await cache.get(own, 'tools', askerOf('alice'));
    await cache.get(shared, 'tools', askerOf('alice'));
    cache.invalidateFor(undefined);
    expect(namesOf(own, askerOf('alice'))).toBeUndefined();
    expect(namesOf(shared, askerOf('alice'))).toEqual(['y']);
  });

  it('keeps one list for clients that differ in their capabilities alone, and each list that differs', async () => {
    const { cache, script, asker } = setUp();
    const backend = backendNamed('a');
    const listFor = (capabilities: string) => cache.get(backend, 'tools', { ...asker, capabilities });
    script.push(answer('x'), answer('x'), answer('y'));
    const first = await listFor('{}');
    expect(await listFor('{"roots":{}}')).toBe(first);
    expect(await listFor('{"sampling":{}}')).not.toBe(first);
  });

  it('asks anew for a caller that shared the question of a session which ended', async () => {
    const { cache, script, asker, askerOf } = setUp();
    const backend = backendNamed('a');
    script.push(new NoAnswer(callFailure('a', 'session_lost', false)), answer('x'));
    const [ended, other] = [cache.get(backend, 'tools', asker), cache.get(backend, 'tools', askerOf('bob'))];
    await expect(ended).rejects.toThrow('no longer knows this session');
    expect((await other).entries.map(({ name }) => name)).toEqual(['x']);
  });

  it('does not hand the failure of a session which ended to the next caller', async () => {
    const { cache, script, asker, askerOf } = setUp();
    const backend = backendNamed('a');
    script.push(new NoAnswer(callFailure('a', 'session_lost', false)), answer('x'));
    await expect(cache.get(backend, 'tools', asker)).rejects.toThrow();
    expect((await cache.get(backend, 'tools', askerOf('bob'))).entries).toHaveLength(1);
  });
});
