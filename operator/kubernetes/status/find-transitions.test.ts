import { describe, expect, it } from '@jest/globals';
import { findTransitions } from './find-transitions.ts';

const condition = (type: string, status: 'True' | 'False', reason: string) => ({
  type,
  status,
  reason,
  message: `${reason}.`,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

describe('transitions of conditions', () => {
  it('are what appeared, changed its status or changed its reason', () => {
    const before = [condition('Ready', 'True', 'AllBackendsReady'), condition('Stalled', 'True', 'A')];
    const after = [
      condition('Ready', 'True', 'SomeBackendsNotReady'),
      condition('Stalled', 'True', 'A'),
      condition('BackendsResolved', 'False', 'SecretNotFound'),
    ];
    expect(findTransitions(before, after).map(({ type, reason }) => [type, reason])).toEqual([
      ['Normal', 'SomeBackendsNotReady'],
      ['Warning', 'SecretNotFound'],
    ]);
    expect(findTransitions(after, after)).toEqual([]);
  });

  it('warn of a resource that is not ready and of every other condition that holds', () => {
    const found = findTransitions(undefined, [
      condition('Ready', 'False', 'RuntimeNotReady'),
      condition('Anonymous', 'True', 'NoAccessControl'),
    ]);
    expect(found.map(({ type }) => type)).toEqual(['Warning', 'Warning']);
  });

  it('are not told of what is only on its way', () => {
    expect(findTransitions([], [condition('Reconciling', 'True', 'NewConfiguration')])).toEqual([]);
  });
});
