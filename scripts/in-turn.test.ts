import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { inTurn, type Say } from './in-turn.ts';

/** Returns work that prints on command. */
function speaker() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const own: { say: Say } = { say: () => undefined };
  const work = (say: Say) => {
    own.say = say;
    return promise;
  };
  return { work, say: (text: string) => own.say(text), end: resolve, fail: reject };
}

describe('inTurn', () => {
  const said: string[] = [];
  const say: Say = (part) => said.push(typeof part === 'string' ? part : Buffer.from(part).toString());

  it('prints the output of concurrent work one after the other, that of the first at once', async () => {
    said.length = 0;
    const [one, two] = [speaker(), speaker()];
    const done = inTurn([one.work, two.work], say);
    two.say('2a');
    one.say('1a');
    two.say('2b');
    expect(said).toEqual(['1a']);
    one.say('1b');
    one.end('first');
    await nextTurn();
    expect(said).toEqual(['1a', '1b', '2a2b']);
    two.say('2c');
    expect(said.at(-1)).toBe('2c');
    two.end('second');
    expect(await done).toEqual(['first', 'second']);
  });

  it('prints long output completely, and keeps characters that are split between chunks', async () => {
    said.length = 0;
    const [one, two] = [speaker(), speaker()];
    const bytes: Uint8Array[] = [];
    const done = inTurn([one.work, two.work], (part) => bytes.push(Buffer.from(part)));
    const long = 'größe '.repeat(50_000);
    two.say(long);
    one.end('');
    two.end('');
    await done;
    expect(Buffer.concat(bytes).toString()).toBe(long);
  });

  it('waits for all work when one fails, and prints the output of the others', async () => {
    said.length = 0;
    const [one, two] = [speaker(), speaker()];
    const done = inTurn([one.work, two.work], say);
    one.fail(new Error('broken'));
    await nextTurn();
    two.say('goes on');
    two.end('');
    await expect(done).rejects.toThrow('broken');
    expect(said.join('')).toBe('goes on');
  });
});
