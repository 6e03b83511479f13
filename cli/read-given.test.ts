import { PassThrough, Readable } from 'node:stream';
import { expect, it } from '@jest/globals';
import { readGiven } from './read-given.ts';

it('readGiven reads input of the maximum length to its end', async () => {
  const input = new PassThrough();
  input.write('abc');
  input.end('de');
  expect(await readGiven('-', 5, { input })).toBe('abcde');
});

it('readGiven stops reading input beyond the maximum length', async () => {
  let given = 0;
  const input = Readable.from(
    (function* () {
      for (;;) {
        given += 1;
        yield Buffer.from('abc');
      }
    })(),
  );
  await expect(readGiven('-', 5, { input })).rejects.toMatchObject({
    exitCode: 1,
    message: 'standard input is longer than 5 bytes',
  });
  expect(given).toBeLessThan(100);
});
