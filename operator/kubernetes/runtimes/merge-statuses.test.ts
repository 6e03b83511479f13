import { describe, expect, it } from '@jest/globals';
import { RuntimeStatus } from '#crds/run-config/runtime-status';
import { mergeStatuses } from './merge-statuses.ts';

const status = (phases: Record<string, string>, more: object = {}) =>
  RuntimeStatus.parse({
    backends: Object.entries(phases).map(([name, phase]) => ({ name, phase, tools: null, message: phase })),
    ...more,
  });

describe('what several pods say', () => {
  it('is what one says where there is one, and nothing where none answers', () => {
    const one = status({ a: 'ready' });
    expect(mergeStatuses([one])).toBe(one);
    expect(mergeStatuses([])).toBeUndefined();
  });

  it('names a backend that only some cannot reach as degraded, and one that none can as unavailable', () => {
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

  it('is ready where one is, keeps a refusal, and has each warning once', () => {
    const merged = mergeStatuses([
      status({}, { ready: false, warnings: ['x', 'y'], tools: null }),
      status({}, { ready: true, warnings: ['y'], tools: 4, config_refused: { message: 'no' } }),
    ]);
    expect(merged).toMatchObject({ ready: true, warnings: ['x', 'y'], tools: 4, config_refused: { message: 'no' } });
  });
});
