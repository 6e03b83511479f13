import { beforeEach, describe, expect, it } from '@jest/globals';
import { MOST_POD_LOGS, PodLogs } from './pod-logs.ts';

/** Ends each read that has begun. */
let begun: (() => void)[] = [];
const api = {
  async *stream(_wanted: unknown, { signal }: { signal?: AbortSignal | undefined }) {
    yield Buffer.from('line\n');
    await new Promise<void>((resolve) => {
      begun.push(resolve);
      signal?.addEventListener('abort', () => resolve());
    });
  },
};
beforeEach(() => {
  begun = [];
});

const pods = (count: number, namespace = 'team') =>
  Array.from({ length: count }, (_, nr) => ({ place: { namespace, name: `pod-${nr}` }, container: 'mcp' }));
const selection = () => {
  const stop = new AbortController();
  return { stop, how: { tailLines: 1, follow: true, signal: stop.signal } };
};

const HALF = MOST_POD_LOGS / 2;
const AGAIN = { headers: { 'Retry-After': '5' } };

describe('PodLogs', () => {
  it('limits the reads of all callers together, and rejects one more with a retry', () => {
    const logs = new PodLogs(api);
    const [first, second] = [selection(), selection()];
    expect(logs.read('one', pods(HALF), first.how)).toHaveLength(HALF);
    expect(logs.read('two', pods(HALF - 1, 'other'), second.how)).toHaveLength(HALF - 1);
    expect(() => logs.read('three', pods(2, 'other'), selection().how)).toThrow(
      expect.objectContaining({ code: 'unavailable', ...AGAIN }),
    );
    expect(logs.read('three', pods(1, 'other'), selection().how)).toHaveLength(1);
    first.stop.abort();
    expect(logs.read('three', pods(HALF - 1), selection().how)).toHaveLength(HALF - 1);
  });

  it('limits one caller to half of all reads', () => {
    const logs = new PodLogs(api);
    const { stop, how } = selection();
    expect(logs.read('one', pods(HALF - 1), how)).toHaveLength(HALF - 1);
    expect(() => logs.read('one', pods(2), how)).toThrow(
      expect.objectContaining({ code: 'too_many_requests', ...AGAIN }),
    );
    expect(logs.read('one', pods(1), how)).toHaveLength(1);
    expect(logs.read('two', pods(HALF, 'other'), selection().how)).toHaveLength(HALF);
    stop.abort();
    expect(logs.read('one', pods(HALF), selection().how)).toHaveLength(HALF);
  });

  it('limits one namespace to half of all reads, for any number of callers', () => {
    const logs = new PodLogs(api);
    const { stop, how } = selection();
    logs.read('one', pods(HALF / 2), how);
    logs.read('two', pods(HALF / 2), selection().how);
    expect(() => logs.read('three', pods(1), selection().how)).toThrow(
      `the logs of ${HALF} pods are being read in this namespace already`,
    );
    expect(logs.read('three', pods(HALF, 'other'), selection().how)).toHaveLength(HALF);
    stop.abort();
    expect(logs.read('four', pods(HALF / 2), selection().how)).toHaveLength(HALF / 2);
  });

  it('releases a read once, when it has ended', async () => {
    const logs = new PodLogs(api);
    const { stop, how } = selection();
    const read = logs.read('one', pods(HALF), how);
    await Promise.all(read.map((pieces) => pieces.next()));
    const ended = Promise.all(read.map((pieces) => pieces.next()));
    for (const end of begun) end();
    await ended;
    stop.abort();
    expect(logs.read('one', pods(HALF), selection().how)).toHaveLength(HALF);
    expect(() => logs.read('one', pods(1), selection().how)).toThrow('already');
    expect(logs.read('two', pods(HALF, 'other'), selection().how)).toHaveLength(HALF);
    expect(() => logs.read('three', pods(1), selection().how)).toThrow(
      `the logs of ${MOST_POD_LOGS} pods are being read already`,
    );
  });

  it('does not count a read whose caller has already gone', () => {
    const logs = new PodLogs(api);
    const { stop, how } = selection();
    stop.abort();
    logs.read('one', pods(HALF), how);
    expect(logs.read('one', pods(HALF), selection().how)).toHaveLength(HALF);
  });
});
