import { describe, expect, it } from '@jest/globals';
import { findTransitions } from './tell-transitions.ts';

const condition = (type: string, status: 'True' | 'False', reason: string) => ({
  type,
  status,
  reason,
  message: `${reason}.`,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

const told = (...lists: Parameters<typeof findTransitions>) =>
  findTransitions(...lists).map(({ type, condition: { reason }, mayPass }) => [type, reason, mayPass]);

describe('findTransitions', () => {
  it('returns conditions that appeared, or changed their status or reason', () => {
    const before = [condition('Ready', 'True', 'AllBackendsReady'), condition('Stalled', 'True', 'A')];
    const after = [
      condition('Ready', 'False', 'ScaledToZero'),
      condition('Stalled', 'True', 'A'),
      condition('BackendsResolved', 'False', 'SecretNotFound'),
    ];
    expect(told(before, after)).toEqual([
      ['Normal', 'ScaledToZero', false],
      ['Warning', 'SecretNotFound', true],
    ]);
    expect(told(after, after)).toEqual([]);
  });

  it('treats a first start as normal until something prevents it', () => {
    const seen = [
      [condition('Ready', 'False', 'PodsNotMade')],
      [condition('Ready', 'False', 'RuntimeNotReady'), condition('Reconciling', 'True', 'RollingOut')],
      [condition('Ready', 'True', 'SomeBackendsNotReady')],
      [condition('Ready', 'True', 'AllBackendsReady')],
    ];
    const types = seen.flatMap((after, index) => told(seen[index - 1], after));
    expect(types).toEqual([
      ['Normal', 'PodsNotMade', false],
      ['Normal', 'RuntimeNotReady', false],
      ['Normal', 'SomeBackendsNotReady', false],
      ['Normal', 'AllBackendsReady', false],
    ]);
    expect(told(seen[0], [condition('Ready', 'False', 'PodsFail')])).toEqual([['Warning', 'PodsFail', true]]);
  });

  it('warns of a resource that stopped serving, unless its pods are being replaced', () => {
    const served = [condition('Ready', 'True', 'AllBackendsReady')];
    const away = condition('Ready', 'False', 'RuntimeNotReady');
    expect(told(served, [away])).toEqual([['Warning', 'RuntimeNotReady', true]]);
    expect(told(served, [away, condition('Reconciling', 'True', 'RollingOut')])).toEqual([
      ['Normal', 'RuntimeNotReady', false],
    ]);
    expect(told(served, [condition('Ready', 'True', 'SomeBackendsNotReady')])).toEqual([
      ['Warning', 'SomeBackendsNotReady', true],
    ]);
  });

  it('warns of every other true condition, immediately and once if a user must fix it', () => {
    expect(told([], [condition('Anonymous', 'True', 'NoAccessControl')])).toEqual([
      ['Warning', 'NoAccessControl', true],
    ]);
    const stalled = [condition('Ready', 'False', 'InvalidPolicy'), condition('Stalled', 'True', 'InvalidPolicy')];
    expect(told([], stalled)).toEqual([['Warning', 'InvalidPolicy', false]]);
    expect(told([], [condition('OldSecrets', 'True', 'StillNeeded')])).toEqual([['Normal', 'StillNeeded', false]]);
  });

  it('ignores progress, and reports a rollout that does not complete', () => {
    expect(told([], [condition('Reconciling', 'True', 'NewConfiguration')])).toEqual([]);
    const before = [condition('Reconciling', 'True', 'RollingOut')];
    const hangs = condition('Reconciling', 'True', 'RolloutHangs');
    expect(told(before, [hangs])).toEqual([['Warning', 'RolloutHangs', true]]);
    // A fact in two conditions is reported once.
    const fails = { ...condition('Ready', 'False', 'PodsFail'), message: hangs.message };
    expect(told(before, [fails, hangs])).toEqual([['Warning', 'PodsFail', true]]);
  });
});
