import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { askPerson } from './ask-person.ts';
import { confirm } from './confirm.ts';
import { showProgress } from './show-progress.ts';
import { contextWith } from './testdata/context-with.ts';

/** Returns a context with or without a terminal. */
function terminal(isTTY = true) {
  const input = Object.assign(new PassThrough(), { isTTY });
  const shown = { text: '' };
  const stream = { isTTY, columns: 40, write: (text: string) => (shown.text += text) };
  return { input, shown, context: contextWith({ input, out: stream, err: stream }) };
}

describe('askPerson', () => {
  it('returns the line that the user types', async () => {
    const { input, shown, context } = terminal();
    const answer = askPerson('Name? ', context);
    input.write('memory\r');
    expect(await answer).toBe('memory');
    expect(shown.text).toContain('Name? ');
  });

  it('shows nothing of a secret, corrections included', async () => {
    const { input, shown, context } = terminal();
    const answer = askPerson('TOKEN: ', context, true);
    input.write('hunter3\u007f2\r');
    expect(await answer).toBe('hunter2');
    expect(shown.text).toBe('TOKEN: \n');
  });

  it('rejects on Ctrl-C and at the end of input', async () => {
    for (const typed of ['half\u0003', '\u0004']) {
      const { input, context } = terminal();
      const answer = askPerson('TOKEN: ', context, true);
      input.write(typed);
      await expect(answer).rejects.toMatchObject({ exitCode: 5, message: expect.stringContaining('broken off') });
    }
  });
});

describe('confirm', () => {
  it.each([
    ['y\r', true],
    ['yes\r', true],
    ['\r', false],
    ['no\r', false],
  ])('treats the answer %j as %s', async (typed, done) => {
    const { input, context } = terminal();
    const asked = confirm('Delete "a"', { yes: false }, context).then(
      () => true,
      () => false,
    );
    input.write(typed);
    expect(await asked).toBe(done);
  });

  it('asks nothing with --yes', async () => {
    const { shown, context } = terminal();
    await confirm('Delete "a"', { yes: true }, context);
    expect(shown.text).toBe('');
  });

  it('rejects as wrong usage without a terminal', async () => {
    const { context } = terminal(false);
    await expect(confirm('Delete "a"', { yes: false }, context)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('--yes'),
    });
  });
});

describe('showProgress', () => {
  it('shows the progress on a terminal and removes it', async () => {
    const { shown, context } = terminal();
    const result = await showProgress('waiting', context, async (say) => {
      say('nearly there');
      await new Promise((resolve) => setTimeout(resolve, 250));
      return 7;
    });
    expect(result).toBe(7);
    expect(shown.text).toContain('waiting');
    expect(shown.text).toContain('nearly there');
    expect(shown.text.endsWith('\r\u001B[K')).toBe(true);
  });

  it('prints nothing elsewhere, and rejects with the error of the work', async () => {
    const { shown, context } = terminal(false);
    await expect(showProgress('waiting', context, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(shown.text).toBe('');
  });
});
