import { beforeEach, describe, expect, it } from '@jest/globals';
import { BatchWriter } from './batch-writer.ts';
import type { Sink } from './sinks.ts';

let logged: string[];
let taken: string;
beforeEach(() => {
  [logged, taken] = [[], ''];
});

function open(write: (bytes: Buffer, call: number) => number) {
  let calls = 0;
  const take = (bytes: Buffer) => {
    const count = write(bytes, ++calls);
    taken += bytes.subarray(0, count).toString();
    return count;
  };
  const sink: Sink = {
    write: (bytes) => new Promise((resolve) => resolve(take(bytes))),
    reopen: () => undefined,
    close: () => undefined,
  };
  const say = (text: string) => logged.push(text);
  const counts = { written: 0, dropped: 0 };
  const log = { debug: say, info: say, warn: say, error: say };
  return { writer: new BatchWriter({ sink, log, counts, gather: 5, retry: 5 }), counts, calls: () => calls };
}

describe('batch writer of audit lines', () => {
  it('gathers lines into one write', async () => {
    const { writer, counts, calls } = open((bytes) => bytes.length);
    for (let line = 0; line < 100; line++) writer.add(`line ${line}`);
    await writer.close(1000);
    expect(calls()).toBe(1);
    expect(taken.split('\n')).toHaveLength(101);
    expect(counts).toEqual({ written: 100, dropped: 0 });
  });

  it('writes each line once after partial and failed writes', async () => {
    const { writer, counts } = open((bytes, call) => {
      if (call === 2) throw new Error('ENOSPC');
      return call === 1 ? 3 : bytes.length;
    });
    writer.add('first');
    writer.add('second');
    await writer.close(2000);
    expect(taken).toBe('first\nsecond\n');
    expect(counts).toEqual({ written: 2, dropped: 0 });
    expect(logged).toEqual(['audit log cannot be written; trying again', 'audit log is written again']);
  });

  it('writes batches by itself, one after the other', async () => {
    const { writer, counts } = open((bytes) => bytes.length);
    for (const line of ['one', 'two']) {
      writer.add(line);
      while (!taken.includes(line)) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await Promise.all([writer.close(1000), writer.close(1000)]);
    writer.add('three');
    expect(taken).toBe('one\ntwo\n');
    expect(counts).toEqual({ written: 2, dropped: 1 });
  });
});
