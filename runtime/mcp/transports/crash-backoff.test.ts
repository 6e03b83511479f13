import { describe, expect, it } from '@jest/globals';
import { CrashBackoff, type ProcessEnd } from './crash-backoff.ts';

const start = () => new CrashBackoff({ first: 500, last: 30_000, healthy: 60_000 });
const crash = (servedFor: number | undefined) => ({ servedFor, wasKilled: false });
const waits = (backoff: CrashBackoff, ends: ProcessEnd[]) => ends.map((end) => backoff.next(end));

const repeat = (times: number, end: ProcessEnd) => Array.from({ length: times }, () => end);

describe('the back-off of a process', () => {
  it('starts at once after each external kill', () => {
    const kills = Array.from({ length: 50 }, () => ({ servedFor: 20_000, wasKilled: true }));
    expect(new Set(waits(start(), kills))).toEqual(new Set([0]));
  });

  it('starts at once after the first crash, then waits at most two seconds if the process served for a while', () => {
    expect(waits(start(), repeat(5, crash(20_000)))).toEqual([0, 500, 1000, 2000, 2000]);
  });

  it('doubles up to the maximum wait if the process crashes within seconds, killed or not', () => {
    expect(waits(start(), repeat(9, crash(100)))).toEqual([0, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    expect(waits(start(), repeat(3, { servedFor: 100, wasKilled: true }))).toEqual([0, 500, 1000]);
  });

  it('doubles from the first start if the process never serves', () => {
    expect(waits(start(), repeat(3, crash(undefined)))).toEqual([500, 1000, 2000]);
  });

  it('forgets crashes after a minute of service', () => {
    expect(waits(start(), [...repeat(5, crash(100)), crash(60_000), crash(100)])).toEqual([
      ...[0, 500, 1000, 2000, 4000],
      ...[0, 500],
    ]);
  });
});
