import { expect, it } from '@jest/globals';
import { type Heard, lastHeard, NOTHING_HEARD, SILENT } from './last-heard.ts';

const after = (...answers: (string | undefined)[]): string | undefined =>
  answers.reduce<Heard<string>>(lastHeard, NOTHING_HEARD).said;

it('lastHeard keeps a status for two unanswered probes, and not for a third', () => {
  expect(after('ready', SILENT)).toBe('ready');
  expect(after('ready', SILENT, SILENT)).toBe('ready');
  expect(after('ready', SILENT, SILENT, SILENT)).toBeUndefined();
  expect(after('ready', SILENT, SILENT, SILENT, SILENT)).toBeUndefined();
});

it('lastHeard restarts the count after an answer', () => {
  expect(after('ready', SILENT, SILENT, 'full', SILENT, SILENT)).toBe('full');
});

it('lastHeard drops the status at once if the runtime does not serve', () => {
  expect(after('ready', undefined)).toBeUndefined();
  expect(after('ready', SILENT, undefined, SILENT)).toBeUndefined();
});
