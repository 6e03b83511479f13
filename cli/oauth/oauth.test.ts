import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { browserCommand } from './open-browser.ts';
import { type CallbackReceiver, openCallback } from './receive-callback.ts';

let receiver: CallbackReceiver;
const never = new AbortController().signal;
beforeEach(async () => {
  receiver = await openCallback();
});
afterEach(() => receiver.close());

const come = (query: string, path = '') => fetch(`${receiver.redirectUrl}${path}?${query}`);

describe('openCallback', () => {
  it('accepts the callback with the state of this login, and shows a page', async () => {
    const answer = receiver.receive(() => 'mine', 5000, never);
    const page = await come('code=c&state=mine&iss=i');
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('You are logged in')]);
    expect(Object.fromEntries(await answer)).toEqual({ code: 'c', state: 'mine', iss: 'i' });
  });

  it.each(['code=c', 'code=c&state=', 'code=c&state=other'])(
    'rejects a callback with %s and continues to wait',
    async (query) => {
      const answer = receiver.receive(() => 'mine', 5000, never);
      expect((await come(query)).status).toBe(400);
      await come('code=right&state=mine');
      expect((await answer).get('code')).toBe('right');
    },
  );

  it('reports a failed login', async () => {
    const answer = receiver.receive(() => 'mine', 5000, never);
    expect(await (await come('error=access_denied&state=mine')).text()).toContain('did not succeed');
    expect((await answer).get('error')).toBe('access_denied');
  });

  it('answers not found at other paths and before a login waits', async () => {
    expect((await come('code=c&state=x')).status).toBe(404);
    expect((await come('', '/other')).status).toBe(404);
  });

  it('rejects after the deadline, or when the command is stopped', async () => {
    await expect(receiver.receive(() => 'mine', 20, never)).rejects.toThrow('try again');
    const stop = new AbortController();
    const answer = receiver.receive(() => 'mine', 5000, stop.signal);
    stop.abort();
    await expect(answer).rejects.toThrow('stopped');
  });
});

describe('browserCommand', () => {
  it.each([
    ['what BROWSER names', { BROWSER: 'firefox' }, 'linux', ['firefox', 'http://x/?a=1&b=2']],
    [
      'the first of several, with the URL where %s stands',
      { BROWSER: 'w3m -N %s:lynx' },
      'darwin',
      ['w3m', '-N', 'http://x/?a=1&b=2'],
    ],
    ['that of Linux', {}, 'linux', ['xdg-open', 'http://x/?a=1&b=2']],
    ['that of macOS', {}, 'darwin', ['open', 'http://x/?a=1&b=2']],
    ['that of Windows', {}, 'win32', ['rundll32', 'url.dll,FileProtocolHandler', 'http://x/?a=1&b=2']],
  ] as const)('returns %s', (_what, environment, platform, command) => {
    expect(browserCommand('http://x/?a=1&b=2', platform, environment)).toEqual(command);
  });
});
