import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { RequestError } from '#runtime/errors';
import { createLog, type LogLevel } from './create-log.ts';

function open(level: LogLevel) {
  const stream = new PassThrough();
  const lines = () =>
    String(stream.read() ?? '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { log: createLog(level, stream), lines };
}

describe('createLog', () => {
  it('writes one JSON object per line', () => {
    const { log, lines } = open('info');
    log.info('two\nlines', { backend: 'a', count: 3 });
    expect(lines()).toEqual([
      { time: expect.stringMatching(/^\d{4}-.*Z$/), level: 'info', message: 'two\nlines', backend: 'a', count: 3 },
    ]);
  });

  it('omits messages below its level, and follows a change of the level', () => {
    const { log, lines } = open('warn');
    log.info('no');
    log.setLevel('debug');
    log.debug('yes');
    expect(lines().map(({ message }) => message)).toEqual(['yes']);
  });

  it('writes an error with its private causes', () => {
    const { log, lines } = open('info');
    const cause = new Error('connect refused', { cause: Object.assign(new Error('inner'), { code: 'ECONNREFUSED' }) });
    log.warn('failed', { error: new RequestError({ status: 200, code: 'x', text: 'public' }, { cause }) });
    expect(lines()[0]?.error).toEqual({
      name: 'RequestError',
      message: 'public',
      cause: {
        name: 'Error',
        message: 'connect refused',
        cause: { name: 'Error', message: 'inner', code: 'ECONNREFUSED', stack: expect.any(String) },
      },
    });
  });

  it('redacts secrets by member name and by form, in errors and at any depth', () => {
    const { log, lines } = open('debug');
    log.error('token Bearer s3cret-s3cret', {
      headers: { authorization: 's3cret', 'x-api-key': ['s3cret'] },
      list: [{ deep: { client_secret: { value: 's3cret' } } }],
      error: new Error('echoed Bearer s3cret-s3cret', { cause: new Error('https://x/?access_token=s3cret') }),
    });
    expect(JSON.stringify(lines())).not.toContain('s3cret');
  });

  it('limits its input: cycles, depth, length, lists, bytes', () => {
    const { log, lines } = open('info');
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    log.info('big', {
      circle,
      text: 'x'.repeat(100_000),
      list: Array(1000).fill(1),
      bytes: Buffer.from('s3cret'),
      big: 1n,
      none: undefined,
    });
    const [line] = lines();
    expect(JSON.stringify(line).length).toBeLessThan(6000);
    expect(line).toMatchObject({ bytes: '6 bytes', big: '1' });
  });
});
