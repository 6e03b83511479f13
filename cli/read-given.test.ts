import { PassThrough, Readable } from 'node:stream';
import { expect, it } from '@jest/globals';
import { readGiven } from './read-given.ts';

it('what is given is read to its end where it is as long as it may be', async () => {
  const input = new PassThrough();
  input.write('abc');
  input.end('de');
  expect(await readGiven('-', 5, { input })).toBe('abcde');
});

it('what is longer than it may be, and may have no end, is read no further', async () => {
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
