import { describe, expect, it } from '@jest/globals';
import type { ProviderLogin } from '#runtime/outgoing/credential';
import { decodeRequest, type DecodedRequest } from '../envelope/decode-request.ts';
import { splice } from '../envelope/splice.ts';
import { awaitLogin, withoutOwnResponses } from './answer-login.ts';
import type { ModernRequest } from './modern-request.ts';

function decode(params: object): { body: Buffer; message: DecodedRequest } {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
  const message = decodeRequest(body);
  if (message.kind !== 'request') throw new TypeError('not reached');
  return { body, message };
}

describe('withoutOwnResponses', () => {
  const sent = (params: object) => {
    const { body, message } = decode(params);
    return (JSON.parse(splice(body, withoutOwnResponses(message)).toString()) as { params: object }).params;
  };

  it("keeps only the responses to the backend's own requests", () => {
    const own = { action: 'accept' };
    expect(sent({ name: 'x', inputResponses: { vmcp_connect_github: own, city: { action: 'accept' } } })).toEqual({
      name: 'x',
      inputResponses: { city: { action: 'accept' } },
    });
  });

  it.each([[{ name: 'x' }], [{ inputResponses: { city: 1 } }], [{ inputResponses: 'odd' }]])(
    'changes nothing without such responses: %j',
    (params) => {
      const { body, message } = decode(params);
      expect(splice(body, withoutOwnResponses(message))).toBe(body);
    },
  );
});

describe('awaitLogin', () => {
  function wait(action: string | undefined, ready: () => boolean, { destroyed = false, longest = 60_000 } = {}) {
    const inputResponses = action === undefined ? {} : { vmcp_connect_github: { action } };
    const { message } = decode({ name: 'x', inputResponses });
    let looks = 0;
    const login = {
      provider: 'github',
      isReady: () => {
        looks++;
        return Promise.resolve(ready());
      },
    } as unknown as ProviderLogin;
    const request = { message, identity: {}, res: { destroyed } } as unknown as ModernRequest;
    return awaitLogin(request, login, { longest, every: 5 }).then((isDone) => ({ isDone, looks }));
  }

  it('returns true when the login is complete', async () => {
    let looks = 0;
    expect(await wait('accept', () => ++looks === 3)).toEqual({ isDone: true, looks: 3 });
  });

  it('returns false when the login takes too long or the client leaves', async () => {
    expect((await wait('accept', () => false, { longest: 60 })).isDone).toBe(false);
    expect(await wait('accept', () => true, { destroyed: true })).toEqual({ isDone: false, looks: 0 });
  });

  it.each(['decline', 'cancel', undefined])('does not wait if the user has not opened the link: %s', async (action) => {
    expect(await wait(action, () => true)).toEqual({ isDone: false, looks: 0 });
  });
});
