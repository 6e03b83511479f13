import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { linesIn, mergeLines } from './merge-lines.ts';

async function all(lines: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const line of lines) found.push(line);
  return found;
}

async function* pieces(...texts: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts)
    yield await Promise.resolve(typeof text === 'string' ? new TextEncoder().encode(text) : text);
}

describe('linesIn', () => {
  it('yields complete lines from any pieces, with a line break after the last one', async () => {
    expect(await all(linesIn(pieces('on', 'e\ntwo\n', '\nthr', 'ee')))).toEqual(['one\n', 'two\n', '\n', 'three\n']);
  });

  it('joins characters that are cut in two', async () => {
    const [first, second] = [Uint8Array.of(0xc3), Uint8Array.of(0xa4, 0x0a)];
    expect(await all(linesIn(pieces(first, second)))).toEqual(['ä\n']);
  });

  it('yields an endless line in parts', async () => {
    const lines = await all(linesIn(pieces('x'.repeat(600_000))));
    expect(lines.length).toBe(3);
    expect(lines.join('').replaceAll('\n', '')).toBe('x'.repeat(600_000));
  });
});

describe('mergeLines', () => {
  it('yields lines in the order of arrival, and ends after all sources have ended', async () => {
    const [slow, fast] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    async function* one() {
      yield await slow.promise;
    }
    async function* two() {
      yield await fast.promise;
      slow.resolve('slow\n');
    }
    fast.resolve('fast\n');
    expect(await all(mergeLines([one(), two()]))).toEqual(['fast\n', 'slow\n']);
    expect(await all(mergeLines([]))).toEqual([]);
  });

  it('ends with the failure of one source', async () => {
    async function* bad(): AsyncGenerator<string> {
      yield 'one\n';
      await Promise.resolve();
      throw new Error('cut');
    }
    await expect(all(mergeLines([bad()]))).rejects.toThrow('cut');
  });

  it('stops reading when its consumer stops', async () => {
    let ended = false;
    async function* endless() {
      try {
        for (;;) yield await Promise.resolve('x\n');
      } finally {
        ended = true;
      }
    }
    for await (const line of mergeLines([endless()])) {
      expect(line).toBe('x\n');
      break;
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toBe(true);
  });

  it('keeps no line after it was read, however long another source is silent', async () => {
    const { promise: end, resolve } = Promise.withResolvers<string>();
    async function* quiet() {
      yield await end;
    }
    async function* chatty() {
      for (let line = 0; line < LINES; line += 1) yield await Promise.resolve(longLine());
      resolve('end\n');
    }
    const before = heapUsed();
    let [read, after] = [0, before];
    for await (const line of mergeLines([quiet(), chatty()])) {
      expect(line.endsWith('\n')).toBe(true);
      read += 1;
      if (read === LINES) after = heapUsed();
    }
    expect(read).toBe(LINES + 1);
    // All of them have 40 MB.
    expect(after - before).toBeLessThan(15_000_000);
  });

  it('reads no faster than its consumer', async () => {
    let asked = 0;
    async function* eager() {
      for (; ; asked += 1) yield await Promise.resolve('x\n');
    }
    const lines = mergeLines([eager()]);
    await lines.next();
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toBe(1);
    await lines.return();
  });
});

const LINES = 20_000;

/** Returns a line with memory of its own, not a slice of another string. */
const longLine = (): string => Buffer.alloc(2000, 'x').fill('\n', 1999).toString('latin1');

/** Returns the bytes that are still referenced. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  return process.memoryUsage().heapUsed;
}
