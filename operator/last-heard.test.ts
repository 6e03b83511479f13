import { expect, it } from '@jest/globals';
import { type Heard, lastHeard, NOTHING_HEARD, SILENT } from './last-heard.ts';

const after = (...answers: (string | undefined)[]): string | undefined =>
  answers.reduce<Heard<string>>(lastHeard, NOTHING_HEARD).said;

it('what was said holds through two silences, and not through a third', () => {
  expect(after('ready', SILENT)).toBe('ready');
  expect(after('ready', SILENT, SILENT)).toBe('ready');
  expect(after('ready', SILENT, SILENT, SILENT)).toBeUndefined();
  expect(after('ready', SILENT, SILENT, SILENT, SILENT)).toBeUndefined();
});

it('an answer in between counts anew', () => {
  expect(after('ready', SILENT, SILENT, 'full', SILENT, SILENT)).toBe('full');
});

it('what does not serve any more is believed at once', () => {
  expect(after('ready', undefined)).toBeUndefined();
  expect(after('ready', SILENT, undefined, SILENT)).toBeUndefined();
});
