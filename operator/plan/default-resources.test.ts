import { describe, expect, it } from '@jest/globals';
import { withDefaults } from '#operator/plan/default-resources';

const DEFAULTS = { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '1', memory: '512Mi' } };

describe('requests and limits of a container', () => {
  it('are the defaults where nothing is written', () => {
    expect(withDefaults(undefined, DEFAULTS)).toEqual(DEFAULTS);
    expect(withDefaults({}, DEFAULTS)).toEqual(DEFAULTS);
    expect(withDefaults({ requests: {} }, DEFAULTS)).toEqual(DEFAULTS);
  });

  it('are the defaults of that of which nothing is written, and as written of the other', () => {
    expect(withDefaults({ requests: { cpu: 2 } }, DEFAULTS)).toEqual({
      requests: { cpu: 2, memory: '128Mi' },
      limits: { memory: '512Mi' },
    });
    expect(withDefaults({ limits: { memory: '64Mi', 'example.com/gpu': '1' } }, DEFAULTS)).toEqual({
      requests: { cpu: '100m' },
      limits: { cpu: '1', memory: '64Mi', 'example.com/gpu': '1' },
    });
  });

  it('are what is written where something of both is', () => {
    const limits = { cpu: '2', memory: '1Gi' };
    expect(withDefaults({ limits }, DEFAULTS)).toStrictEqual({ limits });
    const claims = [{ name: 'gpu' }];
    expect(withDefaults({ limits, claims }, DEFAULTS)).toStrictEqual({ limits, claims });
  });
});
