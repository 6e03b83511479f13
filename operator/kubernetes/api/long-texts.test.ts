import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Semaphore } from '#lib/limits/semaphore';
import { BOUNDS } from '#operator/memory-bounds';
import { readText } from './read-page.ts';
import { readEvents } from './watch-stream.ts';

const wanted = { verb: 'get', resource: 'secrets', method: 'GET', path: '/secrets/a' } as const;
const LONG = 'x'.repeat(BOUNDS.api.shortText + 1);

/** A body whose parts the test sends one by one. */
function openBody(...first: string[]) {
  const parts = [...first];
  let arrived = Promise.withResolvers<undefined>();
  let ended = false;
  async function* read(): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      while (parts.length > 0) yield Buffer.from(parts.shift() ?? '');
      if (ended) return;
      await arrived.promise;
      arrived = Promise.withResolvers<undefined>();
    }
  }
  const send = (part?: string) => {
    if (part === undefined) ended = true;
    else parts.push(part);
    arrived.resolve(undefined);
  };
  return { body: read(), send, unread: () => parts.length };
}

const settle = async () => {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
};

describe('readText', () => {
  const read = (body: AsyncIterable<Uint8Array>, longTexts: Semaphore) => readText(body, 1e6, { wanted, longTexts });

  it('reads a long body after others have been read, and a short one at once', async () => {
    const longTexts = new Semaphore({ total: 1 });
    const [first, second] = [openBody(LONG), openBody(LONG, 'b', 'c')];
    const texts = [read(first.body, longTexts), read(second.body, longTexts)];
    await settle();
    expect(second.unread()).toBe(2);
    const short = openBody('short');
    short.send();
    expect(await read(short.body, longTexts)).toBe('short');
    first.send();
    expect(await texts[0]).toBe(LONG);
    second.send();
    expect(await texts[1]).toBe(`${LONG}bc`);
    expect(longTexts.holds('')).toBe(false);
  });

  it('gives its place back when a body is too long', async () => {
    const longTexts = new Semaphore({ total: 1 });
    const { body } = openBody(LONG, 'x'.repeat(1e6));
    await expect(read(body, longTexts)).rejects.toThrow('get /secrets/a: what is there takes more than 1000000 bytes');
    expect(longTexts.holds('')).toBe(false);
  });
});

describe('readEvents', () => {
  const event = (name: string) =>
    JSON.stringify({ type: 'ADDED', object: { metadata: { name, resourceVersion: '1' } } });
  const halves = (name: string) => [
    event(name).slice(0, BOUNDS.api.shortText + 9),
    event(name).slice(BOUNDS.api.shortText + 9),
  ];

  it('reads a long line after other long texts have been read', async () => {
    const longTexts = new Semaphore({ total: 1 });
    const release = await longTexts.acquire();
    const [start = '', end = ''] = halves('é'.repeat(BOUNDS.api.shortText));
    const stream = openBody(`${event('short')}\n${start}`, `${end}\n${event('last')}\n`);
    stream.send();
    const events = readEvents(stream.body, 'things', longTexts);
    expect((await events.next()).value).toMatchObject({ object: { metadata: { name: 'short' } } });
    const next = events.next();
    await settle();
    expect(stream.unread()).toBe(1);
    release();
    expect((await next).value?.object.metadata.name).toBe('é'.repeat(BOUNDS.api.shortText));
    expect(longTexts.holds('')).toBe(false);
    expect((await events.next()).value).toMatchObject({ object: { metadata: { name: 'last' } } });
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  it('rejects a line that is longer than any object, and gives its place back', async () => {
    const longTexts = new Semaphore({ total: 1 });
    const { body } = openBody(LONG, 'x'.repeat(BOUNDS.api.line));
    await expect(readEvents(body, 'things', longTexts).next()).rejects.toMatchObject({ reason: 'InvalidAnswer' });
    expect(longTexts.holds('')).toBe(false);
  });
});
