import { expect, it } from '@jest/globals';
import type { Log } from '#runtime/telemetry/log';
import { logStderr } from './observe-process.ts';

const ignore = () => undefined;
const log: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };

it('returns the last lines as last words, without secrets, as the last line alone often does not help', () => {
  const { take, lastWords } = logStderr('b', ['hidden'], log);
  expect(lastWords()).toBeUndefined();
  for (let number = 1; number <= 12; number += 1) take(`line ${number} hidden`);
  take(' ');
  expect(lastWords()?.split('\n')).toEqual(Array.from({ length: 10 }, (_, at) => `line ${at + 3} [redacted]`));
  expect(lastWords()).toBeUndefined();
});
