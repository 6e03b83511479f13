import { describe, expect, it } from '@jest/globals';
import { ignoresLimits } from './ignores-limits.ts';

const THERE = import.meta.filename;
const NOT_THERE = `${THERE}.absent`;

describe('ignoresLimits', () => {
  it('returns true for rootless podman with control groups version 1', () => {
    expect(ignoresLimits('podman', { user: 1000, controllers: NOT_THERE })).toBe(true);
  });

  it.each([
    ['root', 'podman', { user: 0, controllers: NOT_THERE }],
    ['control groups of version 2', 'podman', { user: 1000, controllers: THERE }],
    ['an engine that root runs', 'docker', { user: 1000, controllers: NOT_THERE }],
    ['no engine', undefined, { user: 1000, controllers: NOT_THERE }],
  ] as const)('returns false with %s', (_, engine, where) => {
    expect(ignoresLimits(engine, where)).toBe(false);
  });
});
