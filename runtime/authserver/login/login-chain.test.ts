import { afterEach, describe, expect, it } from '@jest/globals';
import { Robot } from '../../../e2e/robot/robot.ts';
import { hashId } from '../ids.ts';
import { backAtClient, closeAll, startChain, subAt, visits, type ChainOf } from './testdata/chain.ts';

afterEach(closeAll);

const alice = { user: 'alice' };
const THREE = [{}, {}, { fake: { oidc: true } }];
const subOf = ({ fakes }: ChainOf, name: string) => subAt(fakes[0]!.issuer, name);

async function expectNothingLeft({ server, fakes }: ChainOf, name = 'alice'): Promise<void> {
  expect(await server.pending()).toBe(0);
  expect(await server.storage.linksOf(subAt(fakes[0]!.issuer, name))).toEqual({});
}

describe('chain of providers', () => {
  it.each([1, 2, 3])('visits %d in order, and ends with one code for the client', async (length) => {
    const chain = await startChain(THREE.slice(0, length));
    const { server, fakes } = chain;
    const page = await chain.walk(new Robot(), alice);
    const back = backAtClient(page);
    expect(Object.fromEntries(back.searchParams)).toEqual({
      code: expect.stringMatching(/^[\w-]+\.[\w-]{43}\.[\w-]{43}$/),
      state: 'of-the-client',
      iss: server.origin,
    });
    const sub = subOf(chain, 'alice');
    expect(await server.codeOf(back)).toMatchObject({
      user: { sub, issuer: fakes[0]!.issuer, subject: 'alice', name: 'alice N.', email: 'alice@fake.test' },
      request: { redirect_uri: 'http://127.0.0.1:33418/callback' },
    });
    const links = await server.storage.linksOf(sub);
    expect(Object.keys(links)).toEqual(['one', 'two', 'three'].slice(0, length));
    for (const [index, fake] of fakes.entries()) {
      const tokens = await server.tokensOf(sub, ['one', 'two', 'three'][index]!);
      expect(tokens?.access_token).toMatch(/^at-/);
      expect(visits(fake)).toBe(1);
    }
    expect(await server.pending()).toBe(0);
    expect(server.changed).toEqual([sub]);
    expect(server.events.map(({ type }) => type)).toEqual([
      'auth_client_registered',
      'auth_login_started',
      'auth_consent',
      'auth_login_completed',
    ]);
    expect(server.events.at(-1)?.subjects).toEqual({ user: 'alice@fake.test', user_id: sub });
  });

  it('stores the result of a login step before the next one, and links it to the user at the end only', async () => {
    const chain = await startChain(THREE);
    const robot = new Robot();
    const before = await chain.until(robot, alice, 'three');
    const row = await pendingRow(chain, before.next!);
    expect(row).toMatchObject({ login_step: { provider: 'three' }, user: { subject: 'alice' } });
    expect(Object.keys(row!.links)).toEqual(['one', 'two']);
    expect(JSON.stringify(row)).not.toMatch(/"[ar]t-[\w-]{32}"|"verifier"|"nonce"/);
    expect(await chain.server.storage.linksOf(subOf(chain, 'alice'))).toEqual({});
    backAtClient(await chain.goOn(robot, before, alice));
    expect(Object.keys(await chain.server.storage.linksOf(subOf(chain, 'alice')))).toHaveLength(3);
  });

  it('visits a provider whose name is a member of every object', async () => {
    const chain = await startChain([{}, { name: 'constructor' }]);
    const back = backAtClient(await chain.walk(new Robot(), alice));
    expect(back.searchParams.get('code')).not.toBeNull();
    expect(Object.keys(await chain.server.storage.linksOf(subOf(chain, 'alice')))).toEqual(['one', 'constructor']);
    expect(visits(chain.fakes[1]!)).toBe(1);
  });

  it('uses the configured primary provider, and visits in list order', async () => {
    const members = [{ required: false }, { fake: { oidc: true } }];
    const chain = await startChain(members, { config: { primary_upstream_provider: 'two' } });
    const back = backAtClient(
      await chain.walk(new Robot(), { user: { [chain.fakes[0]!.host]: 'al', [chain.fakes[1]!.host]: 'alice' } }),
    );
    const sub = subAt(chain.fakes[1]!.issuer, 'alice');
    expect(await chain.server.codeOf(back)).toMatchObject({ user: { sub } });
    expect((await chain.server.storage.linksOf(sub)).one?.account).toMatchObject({ subject: 'al' });
  });

  it('identifies the user by issuer and subject of the primary provider, independent of its name', async () => {
    const chain = await startChain([{ name: 'first' }]);
    const one = await chain.server.codeOf(backAtClient(await chain.walk(new Robot(), alice)));
    const two = await chain.server.codeOf(backAtClient(await chain.walk(new Robot(), { user: 'bob' })));
    expect(one?.user.sub).toBe(subOf(chain, 'alice'));
    expect(two?.user.sub).toBe(subOf(chain, 'bob'));
  });
});

describe('linked provider', () => {
  it('skips its login step under the browser login, and remembers the first client’s consent', async () => {
    const chain = await startChain(THREE);
    const robot = new Robot();
    backAtClient(await chain.walk(robot, alice));
    const page = await robot.open(chain.server.authorizeUrl(), { before: () => true });
    expect(backAtClient(page).searchParams.has('code')).toBe(true);
    expect(chain.fakes.map(visits)).toEqual([1, 1, 1]);
  });

  it('skips its login step in another browser after the primary provider has identified the user', async () => {
    const chain = await startChain(THREE);
    backAtClient(await chain.walk(new Robot(), alice));
    backAtClient(await chain.walk(new Robot(), alice));
    expect(chain.fakes.map(visits)).toEqual([2, 1, 1]);
    backAtClient(await chain.walk(new Robot(), { user: 'bob' }));
    expect(chain.fakes.map(visits)).toEqual([3, 2, 2]);
  });

  it('repeats its login step when it needs a login, or its token ended and cannot be renewed', async () => {
    const chain = await startChain([{}, { fake: { refresh: 'none', expiresIn: 600 } }, {}]);
    const robot = new Robot();
    const sub = subOf(chain, 'alice');
    backAtClient(await chain.walk(robot, alice));
    const { three } = await chain.server.storage.linksOf(sub);
    await chain.server.storage.replaceLink(sub, 'three', 1, { ...three!, state: 'needs_login' });
    chain.server.clock.time += 600_000;
    backAtClient(await chain.walk(robot, alice));
    expect(chain.fakes.map(visits)).toEqual([1, 2, 2]);
    expect(await chain.server.storage.getLink(sub, 'three')).toMatchObject({ state: 'linked', version: 3 });
  });

  it('keeps the time of its link when the same account signs in again, so that browser logins stay valid', async () => {
    const chain = await startChain([{}]);
    const robot = new Robot();
    backAtClient(await chain.walk(robot, alice));
    const first = await chain.server.storage.getLink(subOf(chain, 'alice'), 'one');
    chain.server.clock.time += 60_000;
    backAtClient(await chain.walk(new Robot(), alice));
    expect(await chain.server.storage.getLink(subOf(chain, 'alice'), 'one')).toMatchObject({
      linked_at: first?.linked_at,
      version: 2,
    });
    const page = await robot.open(chain.server.connections);
    expect(page.text).toContain('alice N.');
  });

  it('returns interaction_required for prompt=none when its tokens have ended', async () => {
    const chain = await startChain([{}, { fake: { refresh: 'none', expiresIn: 60 } }]);
    const robot = new Robot();
    const url = chain.server.authorizeUrl({ prompt: 'none' });
    backAtClient(await chain.walk(robot, alice));
    expect(backAtClient(await chain.walk(robot, alice, { url })).searchParams.get('code')).toBeTruthy();
    chain.server.clock.time += 61_000;
    const back = backAtClient(await chain.walk(robot, alice, { url }));
    expect(Object.fromEntries(back.searchParams)).toMatchObject({
      error: 'interaction_required',
      state: 'of-the-client',
    });
    expect(visits(chain.fakes[1]!)).toBe(1);
  });

  it('repeats only the primary login step for prompt=login, and sends prompt=login', async () => {
    const chain = await startChain([{}, {}]);
    const robot = new Robot();
    backAtClient(await chain.walk(robot, alice));
    backAtClient(await chain.walk(robot, alice, { url: chain.server.authorizeUrl({ prompt: 'login' }) }));
    expect(chain.fakes.map(visits)).toEqual([2, 1]);
    expect(chain.fakes[0]!.of('/authorize').at(-1)?.query.get('prompt')).toBe('login');
  });
});

describe('required provider', () => {
  it.each([0, 1, 2])(
    'ends the login when the user denies at step %d, informs the client, and leaves nothing',
    async (loginStep) => {
      const chain = await startChain(THREE);
      const { host } = chain.fakes[loginStep]!;
      const back = backAtClient(await chain.walk(new Robot(), { ...alice, denies: ({ url }) => url.host === host }));
      expect(Object.fromEntries(back.searchParams)).toEqual({
        error: 'access_denied',
        error_description: 'The user did not sign in at a provider that is required',
        state: 'of-the-client',
        iss: chain.server.origin,
      });
      await expectNothingLeft(chain);
      expect(chain.server.events.at(-1)).toMatchObject({ type: 'auth_login_failed', outcome: 'denied' });
      backAtClient(await chain.walk(new Robot(), alice));
    },
  );

  it.each([0, 1, 2])(
    'ends the login when step %d fails, with a matching error, and leaves nothing',
    async (loginStep) => {
      const chain = await startChain(THREE);
      for (const [fault, error] of [
        ['fail', 'temporarily_unavailable'],
        ['hang', 'temporarily_unavailable'],
        ['unknown-client', 'server_error'],
      ] as const) {
        chain.fakes[loginStep]!.setFault('token', fault);
        const back = backAtClient(await chain.walk(new Robot(), alice));
        expect(back.searchParams.get('error')).toBe(error);
        expect(back.searchParams.get('iss')).toBe(chain.server.origin);
        expect(back.href).not.toContain('secret-detail');
      }
      await expectNothingLeft(chain);
      chain.fakes[loginStep]!.setFault('token', undefined);
      expect(backAtClient(await chain.walk(new Robot(), alice)).searchParams.has('code')).toBe(true);
    },
  );

  it.each([0, 1, 2])('leaves nothing of a login that stops at step %d, once it has expired', async (loginStep) => {
    const chain = await startChain(THREE);
    const robot = new Robot();
    const page = await chain.until(robot, alice, ['one', 'two', 'three'][loginStep]!);
    expect(await chain.server.pending()).toBe(1);
    chain.server.clock.time += 600_000;
    const late = await chain.goOn(robot, page, alice);
    expect(late).toMatchObject({ status: 400, next: undefined });
    expect(late.text).toContain('took too long');
    await expectNothingLeft(chain);
  });

  it.each(['signature', 'nonce', 'issuer', 'audience', 'missing', 'expired', 'alg-none', 'shared-secret'] as const)(
    'ends the login for an invalid ID token, and leaves nothing: %s',
    async (fault) => {
      const chain = await startChain([{}, { fake: { oidc: true } }]);
      chain.fakes[1]!.setIdTokenFault(fault);
      const back = backAtClient(await chain.walk(new Robot(), alice));
      expect(back.searchParams.get('error')).toBe('server_error');
      await expectNothingLeft(chain);
    },
  );

  it('informs the client when it cannot be reached at its step', async () => {
    const chain = await startChain([{}, { fake: { oidc: true } }]);
    chain.fakes[1]!.setFault('discovery', 'hang');
    const back = backAtClient(await chain.walk(new Robot(), alice));
    expect(back.searchParams.get('error')).toBe('temporarily_unavailable');
    await expectNothingLeft(chain);
  });
});

describe('optional provider', () => {
  const OPTIONAL = [{}, { required: false, fake: { oidc: true } }, {}];
  const expectLeftOut = async (chain: ChainOf, page: Awaited<ReturnType<ChainOf['walk']>>) => {
    expect(backAtClient(page).searchParams.has('code')).toBe(true);
    const links = await chain.server.storage.linksOf(subOf(chain, 'alice'));
    expect(Object.keys(links)).toEqual(['one', 'three']);
  };

  it('links when the user leaves it checked', async () => {
    const chain = await startChain(OPTIONAL);
    backAtClient(await chain.walk(new Robot(), alice));
    expect(Object.keys(await chain.server.storage.linksOf(subOf(chain, 'alice')))).toEqual(['one', 'two', 'three']);
  });

  it('skips its login step when the user unchecks it', async () => {
    const chain = await startChain(OPTIONAL);
    await expectLeftOut(chain, await chain.walk(new Robot(), { ...alice, checks: { 'link=two': false } }));
    expect(visits(chain.fakes[1]!)).toBe(0);
  });

  it('ends without a link when the user denies there', async () => {
    const chain = await startChain(OPTIONAL);
    const { host } = chain.fakes[1]!;
    await expectLeftOut(chain, await chain.walk(new Robot(), { ...alice, denies: ({ url }) => url.host === host }));
  });

  it.each(['discovery', 'token'] as const)('ends without a link when it is down: %s', async (part) => {
    const chain = await startChain(OPTIONAL);
    chain.fakes[1]!.setFault(part, 'fail');
    await expectLeftOut(chain, await chain.walk(new Robot(), alice));
  });

  it('ends without a link for an invalid ID token', async () => {
    const chain = await startChain(OPTIONAL);
    chain.fakes[1]!.setIdTokenFault('nonce');
    await expectLeftOut(chain, await chain.walk(new Robot(), alice));
  });

  it('ends without a link when it is not linked and no page is shown', async () => {
    const chain = await startChain(OPTIONAL);
    const robot = new Robot();
    await expectLeftOut(chain, await chain.walk(robot, { ...alice, checks: { 'link=two': false } }));
    const page = await robot.open(chain.server.authorizeUrl(), { before: () => true });
    await expectLeftOut(chain, page);
  });
});

/** Returns the login that waits for a state. */
function pendingRow({ server }: ChainOf, callback: URL) {
  return server.storage.get('login', hashId(callback.searchParams.get('state') ?? ''));
}
