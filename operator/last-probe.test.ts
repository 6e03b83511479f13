import { expect, it } from '@jest/globals';
import { type LastProbe, lastProbeOf, NO_ANSWER, NO_PROBE } from './last-probe.ts';

const after = (...answers: (string | undefined)[]): string | undefined =>
  answers.reduce<LastProbe<string>>(lastProbeOf, NO_PROBE).answer;

it('lastProbeOf keeps a status for two unanswered probes, and not for a third', () => {
  expect(after('ready', NO_ANSWER)).toBe('ready');
  expect(after('ready', NO_ANSWER, NO_ANSWER)).toBe('ready');
  expect(after('ready', NO_ANSWER, NO_ANSWER, NO_ANSWER)).toBeUndefined();
  expect(after('ready', NO_ANSWER, NO_ANSWER, NO_ANSWER, NO_ANSWER)).toBeUndefined();
});

it('lastProbeOf restarts the count after an answer', () => {
  expect(after('ready', NO_ANSWER, NO_ANSWER, 'full', NO_ANSWER, NO_ANSWER)).toBe('full');
});

it('lastProbeOf drops the status at once if the runtime does not serve', () => {
  expect(after('ready', undefined)).toBeUndefined();
  expect(after('ready', NO_ANSWER, undefined, NO_ANSWER)).toBeUndefined();
});
