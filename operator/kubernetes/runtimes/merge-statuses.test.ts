import { describe, expect, it } from '@jest/globals';
import { RuntimeStatus } from '#crds/run-config/runtime-status';
import { mergeStatuses } from './merge-statuses.ts';

const status = (phases: Record<string, string>, more: object = {}) =>
  RuntimeStatus.parse({
    backends: Object.entries(phases).map(([name, phase]) => ({ name, phase, tools: null, message: phase })),
    ...more,
  });

describe('mergeStatuses', () => {
  it('returns the status of a single pod, and undefined without any', () => {
    const one = status({ a: 'ready' });
    expect(mergeStatuses([one])).toBe(one);
    expect(mergeStatuses([])).toBeUndefined();
  });

  it('reports a backend as degraded if some pods cannot reach it, and as unavailable if none can', () => {
    const merged = mergeStatuses([
      status({ a: 'ready', b: 'unavailable', c: 'unknown' }),
      status({ a: 'unavailable', b: 'unavailable', c: 'ready' }),
    ]);
    expect(merged?.backends.map(({ name, phase, message }) => [name, phase, message])).toEqual([
      ['a', 'degraded', 'unavailable'],
      ['b', 'unavailable', 'unavailable'],
      ['c', 'unknown', 'unknown'],
    ]);
  });

  it('reports ready if one pod is, keeps a refusal, and lists each warning once', () => {
    const merged = mergeStatuses([
      status({}, { ready: false, warnings: ['x', 'y'], tools: null }),
      status({}, { ready: true, warnings: ['y'], tools: 4, config_refused: { message: 'no' } }),
    ]);
    expect(merged).toMatchObject({ ready: true, warnings: ['x', 'y'], tools: 4, config_refused: { message: 'no' } });
  });
});
