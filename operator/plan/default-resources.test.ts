import { describe, expect, it } from '@jest/globals';
import { withDefaults } from '#operator/plan/default-resources';

const DEFAULTS = { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '1', memory: '512Mi' } };

describe('withDefaults', () => {
  it('uses the defaults without written values', () => {
    expect(withDefaults(undefined, DEFAULTS)).toEqual(DEFAULTS);
    expect(withDefaults({}, DEFAULTS)).toEqual(DEFAULTS);
    expect(withDefaults({ requests: {} }, DEFAULTS)).toEqual(DEFAULTS);
  });

  it('fills in the resource without values and keeps the other', () => {
    expect(withDefaults({ requests: { cpu: 2 } }, DEFAULTS)).toEqual({
      requests: { cpu: 2, memory: '128Mi' },
      limits: { memory: '512Mi' },
    });
    expect(withDefaults({ limits: { memory: '64Mi', 'example.com/gpu': '1' } }, DEFAULTS)).toEqual({
      requests: { cpu: '100m' },
      limits: { cpu: '1', memory: '64Mi', 'example.com/gpu': '1' },
    });
  });

  it('keeps written values of both resources', () => {
    const limits = { cpu: '2', memory: '1Gi' };
    expect(withDefaults({ limits }, DEFAULTS)).toStrictEqual({ limits });
    const claims = [{ name: 'gpu' }];
    expect(withDefaults({ limits, claims }, DEFAULTS)).toStrictEqual({ limits, claims });
  });
});
