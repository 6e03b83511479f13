import { afterEach, describe, expect, it } from '@jest/globals';
import { Robot } from '../../../e2e/robot/robot.ts';
import { textOf } from '../../../e2e/robot/page.ts';
import type { AuthStorage } from '../storage/storage.ts';
import { backAtClient, closeAll, startChain, subAt } from './testdata/chain.ts';

afterEach(closeAll);

const alice = { user: 'alice' };

/** Returns a storage that runs another operation right before it stores a login. */
function interrupted() {
  const at: { before?: ((storage: AuthStorage) => Promise<void>) | undefined } = {};
  const wrap = (storage: AuthStorage): AuthStorage =>
    new Proxy(storage, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return async (...values: unknown[]) => {
          const before = name === 'finishLogin' ? at.before : undefined;
          at.before = before ? undefined : at.before;
          await before?.(target);
          return Reflect.apply(member, target, values) as unknown;
        };
      },
    });
  return { at, wrap };
}

describe('sign-out everywhere during a login', () => {
  it('restores no former browser login', async () => {
    const { at, wrap } = interrupted();
    const chain = await startChain([{}], { wrap });
    const { server, fakes } = chain;
    const sub = subAt(fakes[0]!.issuer, 'alice');
    const stolen = new Robot();
    backAtClient(await chain.walk(stolen, alice));
    expect(textOf(await stolen.open(server.connections))).toContain('Your connections');
    server.clock.time += 60_000;
    at.before = (storage) => storage.endUser(sub);
    const own = new Robot();
    backAtClient(await chain.walk(own, alice));
    expect(textOf(await own.open(server.connections))).toContain('Your connections');
    expect(textOf(await stolen.open(server.connections))).toContain('Sign in to see your connections');
  });

  it('prevents a code that depends on ended links', async () => {
    const { at, wrap } = interrupted();
    const chain = await startChain([{}, {}], { wrap });
    const sub = subAt(chain.fakes[0]!.issuer, 'alice');
    const robot = new Robot();
    backAtClient(await chain.walk(robot, alice));
    at.before = (storage) => storage.endUser(sub);
    const page = await chain.walk(robot, alice);
    expect({ status: page.status, next: page.next }).toEqual({ status: 400, next: undefined });
    expect(textOf(page)).toContain('Somebody else is signed in now');
    expect(await chain.server.storage.linksOf(sub)).toEqual({});
  });

  it('does not affect a login that visits all providers again', async () => {
    const { at, wrap } = interrupted();
    const chain = await startChain([{}, {}], { wrap });
    const sub = subAt(chain.fakes[0]!.issuer, 'alice');
    at.before = (storage) => storage.endUser(sub);
    expect(await chain.server.codeOf(backAtClient(await chain.walk(new Robot(), alice)))).toMatchObject({
      user: { sub },
    });
  });
});
