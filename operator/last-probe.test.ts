import { expect, it } from '@jest/globals';
import { type LastProbe, lastProbeOf, NO_PROBE, STALE } from './last-probe.ts';

const after = (...answers: (string | undefined)[]): string | undefined =>
  answers.reduce<LastProbe<string>>(lastProbeOf, NO_PROBE).said;

it('lastHeard keeps a status for two unanswered probes, and not for a third', () => {
  expect(after('ready', STALE)).toBe('ready');
  expect(after('ready', STALE, STALE)).toBe('ready');
  expect(after('ready', STALE, STALE, STALE)).toBeUndefined();
  expect(after('ready', STALE, STALE, STALE, STALE)).toBeUndefined();
});

it('lastHeard restarts the count after an answer', () => {
  expect(after('ready', STALE, STALE, 'full', STALE, STALE)).toBe('full');
});

it('lastHeard drops the status at once if the runtime does not serve', () => {
  expect(after('ready', undefined)).toBeUndefined();
  expect(after('ready', STALE, undefined, STALE)).toBeUndefined();
});
