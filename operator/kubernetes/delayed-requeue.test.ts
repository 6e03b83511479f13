import { describe, expect, it } from '@jest/globals';
import { ManualClock } from '#operator/testdata/manual-clock';
import { keyText, type ResourceKey } from '#operator/snapshot';
import { DelayedRequeue } from './delayed-requeue.ts';

const key = (name: string): ResourceKey => ({ kind: 'VirtualMCPServer', namespace: 'ns', name });

describe('DelayedRequeue', () => {
  it('runs once for several requests, and again for a request after that', () => {
    const clock = new ManualClock();
    const looks: string[] = [];
    const delayedRequeue = new DelayedRequeue(clock, (found) => {
      looks.push(keyText(found));
      // Each attempt fails and requests another one, as each attempt of the resync does.
      delayedRequeue.after(1000, found);
      delayedRequeue.after(1000, found);
    });
    for (const name of ['a', 'a', 'b']) delayedRequeue.after(1000, key(name));
    for (let i = 0; i < 4; i += 1) clock.pass(1000);
    expect(looks.filter((text) => text.endsWith('/a'))).toHaveLength(4);
    expect(looks).toHaveLength(8);
  });

  it('runs an earlier request before a later one', () => {
    const clock = new ManualClock();
    const looks: number[] = [];
    const delayedRequeue = new DelayedRequeue(clock, () => looks.push(clock.now()));
    delayedRequeue.after(60_000, key('a'));
    delayedRequeue.after(3000, key('a'));
    clock.pass(3000);
    clock.pass(57_000);
    expect(looks).toEqual([3000, 60_000]);
  });

  it('runs nothing after it is closed', () => {
    const clock = new ManualClock();
    const looks: ResourceKey[] = [];
    const delayedRequeue = new DelayedRequeue(clock, (found) => looks.push(found));
    delayedRequeue.after(1000, key('a'));
    delayedRequeue.close();
    clock.pass(1000);
    expect([looks, clock.timers]).toEqual([[], 0]);
  });
});
