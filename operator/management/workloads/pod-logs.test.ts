import { beforeEach, describe, expect, it } from '@jest/globals';
import { MOST_POD_LOGS, PodLogs } from './pod-logs.ts';

/** Reads that have begun: what ends each. */
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

const pods = (count: number) =>
  Array.from({ length: count }, (_, nr) => ({ place: { namespace: 'team', name: `pod-${nr}` }, container: 'mcp' }));
const selection = () => {
  const stop = new AbortController();
  return { stop, how: { tailLines: 1, follow: true, signal: stop.signal } };
};

describe('logs of pods', () => {
  it('are read up to a number for all callers together, and who is one too many is told to come again', () => {
    const logs = new PodLogs(api);
    const [first, second] = [selection(), selection()];
    expect(logs.read(pods(MOST_POD_LOGS - 1), first.how)).toHaveLength(MOST_POD_LOGS - 1);
    expect(() => logs.read(pods(2), second.how)).toThrow(
      expect.objectContaining({ code: 'unavailable', headers: { 'Retry-After': '5' } }),
    );
    expect(logs.read(pods(1), second.how)).toHaveLength(1);
    first.stop.abort();
    expect(logs.read(pods(MOST_POD_LOGS - 1), second.how)).toHaveLength(MOST_POD_LOGS - 1);
  });

  it('count no more when they have ended, and once only', async () => {
    const logs = new PodLogs(api);
    const { stop, how } = selection();
    const read = logs.read(pods(MOST_POD_LOGS), how);
    await Promise.all(read.map((pieces) => pieces.next()));
    const ended = Promise.all(read.map((pieces) => pieces.next()));
    for (const end of begun) end();
    await ended;
    stop.abort();
    expect(logs.read(pods(MOST_POD_LOGS), selection().how)).toHaveLength(MOST_POD_LOGS);
    expect(() => logs.read(pods(1), selection().how)).toThrow('already');
  });
});
