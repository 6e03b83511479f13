import { afterEach, describe, expect, it } from '@jest/globals';
import { Robot } from '../../e2e/robot/robot.ts';
import { closeAll, startChain, subAt } from './login/testdata/chain.ts';
import { createMemoryStorage } from './storage/memory.ts';
import { StorageUnavailable, type AuthStorage } from './storage/storage.ts';
import { START, startTokenServer, type TokenServer } from './token/testdata/token-server.ts';

/** Returns a wrapper for storages whose call after `left` others fails. */
function failing() {
  const fault = { left: Infinity, failed: '' };
  const wrap = (storage: AuthStorage): AuthStorage =>
    new Proxy(storage, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return (...values: unknown[]): unknown => {
          fault.left -= 1;
          if (fault.left !== -1) return Reflect.apply(member, target, values) as unknown;
          fault.failed = name === 'put' ? `put ${String(values[0])}` : String(name);
          return Promise.reject(new StorageUnavailable('down for a moment'));
        };
      },
    });
  const failAt = (left: number): void => {
    fault.left = left;
    fault.failed = '';
  };
  return { fault, wrap, failAt };
}

afterEach(closeAll);

describe('login with a storage that fails once at any step', () => {
  const alice = { user: 'alice' };

  it('ends with a 503 page and no partial result, and succeeds at the next attempt', async () => {
    const { fault, wrap, failAt } = failing();
    const chain = await startChain([{}, {}], { wrap });
    const sub = subAt(chain.fakes[0]!.issuer, 'alice');
    const met = new Set<string>();
    for (let step = 0; ; step += 1) {
      await chain.server.storage.endUser(sub);
      const robot = new Robot();
      failAt(step);
      const page = await chain.walk(robot, alice);
      const { failed } = fault;
      failAt(Infinity);
      if (failed === '') {
        expect(page.next?.searchParams.get('code')).toBeTruthy();
        break;
      }
      met.add(failed);
      // The request has taken effect; only a repetition needs the stored answer.
      if (failed === 'put answer') {
        expect(page.next?.searchParams.get('code')).toBeTruthy();
        continue;
      }
      expect({ step, failed, status: page.status, next: page.next }).toMatchObject({ status: 503, next: undefined });
      const links = Object.keys(await chain.server.storage.linksOf(sub));
      expect(links).toEqual(links.length === 0 ? [] : ['one', 'two']);
      expect((await chain.walk(robot, alice)).next?.searchParams.get('code')).toBeTruthy();
    }
    expect([...met]).toEqual(
      expect.arrayContaining(['get', 'take', 'put login', 'put answer', 'count', 'linksOf', 'finishLogin']),
    );
  });
});

describe('token endpoint with a storage that fails once', () => {
  const each = async (
    prepare: (server: TokenServer) => Promise<() => Promise<{ readonly status: number; readonly text: string }>>,
  ): Promise<string[]> => {
    const { fault, wrap, failAt } = failing();
    const storage = wrap(createMemoryStorage({ now: () => START }));
    const server = await startTokenServer({ storage });
    const met: string[] = [];
    for (let step = 0; ; step += 1) {
      failAt(Infinity);
      const ask = await prepare(server);
      failAt(step);
      const first = await ask();
      const { failed } = fault;
      failAt(Infinity);
      if (failed === '') {
        await server.close();
        return met;
      }
      met.push(failed);
      // The answer does not depend on this write, so its failure is ignored.
      if (failed === 'touch' && first.status === 200) continue;
      expect({ failed, status: first.status }).toEqual({ failed, status: 503 });
      expect(first.text).toContain('temporarily_unavailable');
      expect({ failed, status: (await ask()).status }).toEqual({ failed, status: 200 });
    }
  };

  it('keeps the code valid', async () => {
    const met = await each(async (server) => {
      const clientId = await server.client();
      const code = await server.code(clientId);
      return () => server.redeem(code, clientId);
    });
    expect(met).toEqual(expect.arrayContaining(['getCode', 'redeemCode']));
  });

  it('keeps the refresh token valid', async () => {
    const met = await each(async (server) => {
      const { clientId, tokens } = await server.login();
      server.settings.known.delete(tokens.refresh_token);
      return () => server.refresh(tokens.refresh_token, clientId);
    });
    expect(met).toEqual(expect.arrayContaining(['getSession', 'rotateSession']));
  });

  it('does not report a token as revoked or expired', async () => {
    const met = await each(async (server) => {
      const { clientId, tokens } = await server.login();
      return () => server.post('/oauth/revoke', { token: tokens.refresh_token, client_id: clientId });
    });
    expect(met).toEqual(['getSession', 'get', 'endSession']);
  });
});
