import { afterEach, describe, expect, it } from '@jest/globals';
import { Robot } from '../../../e2e/robot/robot.ts';
import { backAtClient, closeAll, startChain, subAt, visits, type ChainOf } from './testdata/chain.ts';
import type { Page } from '../../../e2e/robot/page.ts';
import { StorageUnavailable } from '../storage/storage.ts';

afterEach(closeAll);

const alice = { user: 'alice' };
const asksWho = ({ forms }: Page) => forms.some(({ fields }) => fields.some(({ name }) => name === 'login'));
/** Makes the providers ask for the user again. */
const signOutAtProviders = ({ cookies }: Robot, { fakes }: ChainOf) => {
  for (const { port, issuer } of fakes) cookies.expire(issuer, `fake_user_${port}`);
};
const subOf = ({ fakes }: ChainOf, name: string) => subAt(fakes[0]!.issuer, name);
const linksOf = (chain: ChainOf, name: string) => chain.server.storage.linksOf(subOf(chain, name));

describe('provider callback', () => {
  it('rejects an attacker’s login in the victim’s browser, and continues it where it began', async () => {
    const chain = await startChain([{}, {}]);
    const [attacker, victim] = [new Robot(), new Robot()];
    const page = await chain.until(attacker, { user: 'mallory' }, 'one');
    await chain.walk(victim, alice);
    for (const robot of [victim, new Robot()]) {
      const refused = await robot.open(page.next!);
      expect(refused).toMatchObject({ status: 400, next: undefined });
      expect(refused.text).toContain('belongs to another browser');
    }
    expect(await chain.server.pending()).toBe(1);
    const back = backAtClient(await chain.goOn(attacker, page, { user: 'mallory' }));
    expect(await chain.server.codeOf(back)).toMatchObject({ user: { subject: 'mallory' } });
    expect((await linksOf(chain, 'alice')).two?.account).toBeUndefined();
  });

  it('rejects the state of another provider, and the login continues', async () => {
    const chain = await startChain([{}, {}]);
    const robot = new Robot();
    const page = await chain.until(robot, alice, 'one');
    const asked = chain.fakes[1]!.asked.length;
    const elsewhere = new URL(page.next!);
    elsewhere.pathname = new URL(chain.server.callbackOf('two')).pathname;
    expect(await robot.open(elsewhere)).toMatchObject({ status: 400 });
    expect(chain.fakes[1]!.asked).toHaveLength(asked);
    backAtClient(await chain.goOn(robot, page, alice));
  });

  it('rejects a missing, unknown or repeated state, and an unknown provider', async () => {
    const chain = await startChain([{}]);
    const robot = new Robot();
    const page = await chain.until(robot, alice, 'one');
    const urls = ['', '?state=', '?state=unknown&code=c', '?code=c', `${page.next!.search}&state=x`].map(
      (query) => chain.server.callbackOf('one') + query,
    );
    for (const url of urls) expect(await robot.open(url)).toMatchObject({ status: 400, next: undefined });
    expect(await robot.open(chain.server.callbackOf('none') + page.next!.search)).toMatchObject({ status: 404 });
    backAtClient(await chain.goOn(robot, page, alice));
  });

  it('repeats its answer for 30 s, as after a reload, and changes nothing', async () => {
    const chain = await startChain([{}, {}]);
    const robot = new Robot();
    const page = await chain.until(robot, alice, 'one');
    const first = await robot.open(page.next!, { before: () => true });
    backAtClient(await chain.goOn(robot, first, alice));
    expect((await robot.open(page.next!, { before: () => true })).next?.href).toBe(first.next?.href);
    expect(Object.keys(await linksOf(chain, 'alice'))).toEqual(['one', 'two']);
    expect(chain.fakes[0]!.of('/token')).toHaveLength(1);
    chain.server.clock.time += 30_001;
    const late = await robot.open(page.next!);
    expect([late.status, late.text]).toEqual([400, expect.stringContaining('This step was done already')]);
  });

  it('rejects a repetition in another browser', async () => {
    const chain = await startChain([{}]);
    const [robot, other] = [new Robot(), new Robot()];
    const page = await chain.until(robot, alice, 'one');
    await other.open(chain.server.authorizeUrl());
    backAtClient(await chain.goOn(robot, page, alice));
    expect(await other.open(page.next!)).toMatchObject({ status: 400, next: undefined });
  });

  it('redeems the provider’s code once and gives one answer to many concurrent requests', async () => {
    const chain = await startChain([{}]);
    const robot = new Robot();
    const page = await chain.until(robot, alice, 'one');
    const pages = await Promise.all(Array.from({ length: 10 }, () => robot.open(page.next!, { before: () => true })));
    expect(new Set(pages.map(({ next }) => next?.searchParams.get('code')))).toEqual(new Set([expect.any(String)]));
    expect(chain.fakes[0]!.of('/token')).toHaveLength(1);
  });

  it('rejects another code after 10 s, and the login continues', async () => {
    const chain = await startChain([{}, {}]);
    const robot = new Robot();
    const first = await chain.walk(robot, {}, { stop: { at: asksWho } });
    const second = await robot.submit(first, { fields: { login: 'alice' } });
    expect(second.url.host).toBe(chain.fakes[1]!.host);
    expect((await robot.submit(first, { fields: { login: 'alice' } })).url.href).toBe(second.url.href);
    chain.server.clock.time += 10_001;
    const back = await robot.submit(first, { fields: { login: 'bob' } });
    expect(back).toMatchObject({ status: 400 });
    expect(back.text).toContain('This step was done already');
    backAtClient(await chain.goOn(robot, second, alice));
  });

  it('continues the login of the first form when the consent form is sent again by the back button', async () => {
    const chain = await startChain([{}]);
    const robot = new Robot();
    const consent = await chain.walk(robot, {}, { stop: { at: ({ forms }) => forms.length > 0 } });
    const atProvider = await robot.submit(consent, { button: consent.forms[0]!.buttons[0] });
    const again = await robot.submit(consent, { button: consent.forms[0]!.buttons[0] });
    expect(again.url.href).toBe(atProvider.url.href);
    backAtClient(await chain.goOn(robot, atProvider, alice));
  });

  it('shows no text of the provider, and logs no codes, tokens or states', async () => {
    const chain = await startChain([{}, {}]);
    const { server, fakes } = chain;
    const robot = new Robot();
    const page = await chain.until(robot, alice, 'two');
    fakes[1]!.setFault('token', 'unknown-client');
    const back = backAtClient(await chain.goOn(robot, page, alice));
    const output = JSON.stringify([server.events, server.logged]);
    const secrets = fakes.flatMap(({ asked }) =>
      asked.flatMap(({ form, query }) =>
        ['code', 'state', 'nonce', 'code_verifier', 'client_secret'].flatMap((name) => [
          ...form.getAll(name),
          ...query.getAll(name),
        ]),
      ),
    );
    expect(secrets.length).toBeGreaterThan(10);
    for (const secret of [...secrets, 'secret-detail']) expect(output).not.toContain(secret);
    // Matches a token, not the same letters within random text.
    expect(output).not.toMatch(/(?<![\w-])[ar]t-[\w-]{32}/);
    expect(back.href).not.toContain('secret-detail');
    expect(output).toContain('its token endpoint answered 401 invalid_client');
  });
});

describe('concurrent logins', () => {
  it('finish in two tabs that a browser without a cookie opens at the same time', async () => {
    const chain = await startChain([{}, {}]);
    const robot = new Robot();
    const tabs = await Promise.all(['a', 'b'].map((state) => robot.open(chain.server.authorizeUrl({ state }))));
    const loginSteps: Page[] = [];
    for (const tab of tabs) loginSteps.push(await robot.submit(tab));
    const states: (string | null)[] = [];
    for (const loginStep of loginSteps)
      states.push(backAtClient(await chain.goOn(robot, loginStep, alice)).searchParams.get('state'));
    expect(states).toEqual(['a', 'b']);
  });

  it('finish in two tabs of one browser, with alternating steps, without mixing the users', async () => {
    const chain = await startChain([{}, {}]);
    const robot = new Robot();
    const first = await chain.until(robot, alice, 'one');
    signOutAtProviders(robot, chain);
    const second = await chain.until(robot, { user: 'bob' }, 'one');
    const before = ({ pathname }: URL) => pathname === new URL(chain.server.callbackOf('two')).pathname;
    const bobTwo = await robot.walk(second, { user: 'bob' }, { before });
    signOutAtProviders(robot, chain);
    const aliceTwo = await robot.walk(first, alice, { before });
    const aliceBack = backAtClient(await chain.goOn(robot, aliceTwo, alice));
    const bobBack = backAtClient(await chain.goOn(robot, bobTwo, { user: 'bob' }));
    expect(await chain.server.codeOf(aliceBack)).toMatchObject({ user: { subject: 'alice' } });
    expect(await chain.server.codeOf(bobBack)).toMatchObject({ user: { subject: 'bob' } });
    for (const name of ['alice', 'bob']) {
      expect(Object.keys(await linksOf(chain, name))).toEqual(['one', 'two']);
      const { access_token } = (await chain.server.tokensOf(subOf(chain, name), 'two'))!;
      expect(chain.fakes[1]!.userOf(access_token)).toBe(name);
    }
  });

  it('finish in several browsers at the same time', async () => {
    const chain = await startChain([{}, {}, {}]);
    const backs = await Promise.all(
      ['alice', 'bob', 'carol'].map(async (user) => backAtClient(await chain.walk(new Robot(), { user }))),
    );
    const subjects = await Promise.all(backs.map(async (back) => (await chain.server.codeOf(back))?.user.subject));
    expect(subjects).toEqual(['alice', 'bob', 'carol']);
  });

  it('reject another account at the second provider, because the first link pins the account', async () => {
    const chain = await startChain([{}, { config: named }, {}]);
    backAtClient(await chain.walk(new Robot(), alice));
    const sub = subOf(chain, 'alice');
    const before = await linksOf(chain, 'alice');
    for (const name of ['two', 'three']) {
      await chain.server.storage.replaceLink(sub, name, 1, { ...before[name]!, state: 'needs_login' });
    }
    const page = await chain.walk(new Robot(), { user: atTwo(chain, 'alice', 'mallory') });
    expect(page).toMatchObject({ status: 403, next: undefined });
    expect(page.text).toContain('This is another account at two');
    expect(page.text).toContain(chain.server.connections);
    expect(await chain.server.pending()).toBe(0);
    expect(visits(chain.fakes[2]!)).toBe(1);
    const after = await linksOf(chain, 'alice');
    expect(after.two).toMatchObject({ account: before.two!.account, sealed: before.two!.sealed });
    expect(after.one?.version).toBe(1);
  });

  it('keep the account of the first finished login when two accounts are linked for one user', async () => {
    const chain = await startChain([{}, { config: named }, {}]);
    const [first, second] = [new Robot(), new Robot()];
    const one = await chain.until(first, alice, 'three');
    const mallory = { user: { ...atTwo(chain, 'alice', 'mallory'), [chain.fakes[2]!.host]: 'alice' } };
    const two = await chain.until(second, mallory, 'three');
    backAtClient(await chain.goOn(first, one, alice));
    const before = await linksOf(chain, 'alice');
    const page = await chain.goOn(second, two, mallory);
    expect(page).toMatchObject({ status: 403, next: undefined });
    expect(await linksOf(chain, 'alice')).toEqual(before);
  });

  it('log in the user who returns from the primary provider, even if another user was signed in', async () => {
    const chain = await startChain([{}, {}]);
    const robot = new Robot();
    backAtClient(await chain.walk(robot, alice));
    const cookie = robot.cookies.at(chain.server.origin);
    const { one } = await linksOf(chain, 'alice');
    signOutAtProviders(robot, chain);
    const url = chain.server.authorizeUrl({ prompt: 'login' });
    const back = backAtClient(await chain.walk(robot, { user: 'bob' }, { url }));
    expect(await chain.server.codeOf(back)).toMatchObject({ user: { subject: 'bob' } });
    expect(robot.cookies.at(chain.server.origin)).not.toEqual(cookie);
    expect((await linksOf(chain, 'alice')).one).toEqual(one);
    expect(Object.keys(await linksOf(chain, 'bob'))).toEqual(['one', 'two']);
    expect((await robot.open(chain.server.connections)).text).toContain('bob N.');
  });

  it('do not mix a signed-in user without a primary link and the user who returns from the provider', async () => {
    const members = [{ required: true }, { fake: { oidc: true, refresh: 'none', expiresIn: 600 } }] as const;
    const chain = await startChain(members, { config: { primary_upstream_provider: 'two' } });
    const robot = new Robot();
    backAtClient(await chain.walk(robot, alice));
    chain.server.clock.time += 600_000;
    signOutAtProviders(robot, chain);
    const back = backAtClient(await chain.walk(robot, { user: 'bob' }));
    const row = await chain.server.codeOf(back);
    expect(row).toMatchObject({ user: { subject: 'bob' } });
    expect(Object.keys(await chain.server.storage.linksOf(row!.user.sub))).toEqual(['two', 'one']);
    expect(visits(chain.fakes[0]!)).toBe(2);
  });

  it('reject a login step that began under the login of a former user of the browser', async () => {
    const chain = await startChain([{}, {}]);
    const robot = new Robot();
    backAtClient(await chain.walk(robot, alice));
    const { two } = await linksOf(chain, 'alice');
    await chain.server.storage.replaceLink(subOf(chain, 'alice'), 'two', 1, { ...two!, state: 'needs_login' });
    const tab = await chain.until(robot, alice, 'two');
    signOutAtProviders(robot, chain);
    const url = chain.server.authorizeUrl({ prompt: 'login' });
    backAtClient(await chain.walk(robot, { user: 'bob' }, { url }));
    const page = await chain.goOn(robot, tab, { user: 'bob' });
    expect(page).toMatchObject({ status: 400, next: undefined });
    expect(page.text).toContain('Somebody else is signed in now');
    expect((await linksOf(chain, 'alice')).two).toMatchObject({ state: 'needs_login' });
  });
});

/** Configuration of a provider that identifies the user. */
const named = (issuer: string) => ({
  userinfo: { endpoint_url: `${issuer}/userinfo`, field_mapping: { subject_fields: ['account.number'] } },
});
const atTwo = ({ fakes }: ChainOf, one: string, two: string) => ({ [fakes[0]!.host]: one, [fakes[1]!.host]: two });

describe('request to a provider', () => {
  it('contains nothing of the client, the other provider, or the cookie', async () => {
    const chain = await startChain([{}, { fake: { oidc: true } }]);
    const robot = new Robot();
    backAtClient(await chain.walk(robot, alice));
    const loginSteps = chain.fakes.map((fake) => fake.of('/authorize')[0]!.query);
    for (const name of ['state', 'nonce', 'code_challenge']) {
      const values = loginSteps.map((query) => query.get(name));
      expect(new Set(values).size).toBe(2);
      for (const value of values) expect(value).toMatch(/^[\w-]{43}$/);
    }
    expect(loginSteps.map((query) => query.get('redirect_uri'))).toEqual([
      chain.server.callbackOf('one'),
      chain.server.callbackOf('two'),
    ]);
    const sent = chain.fakes.map(({ asked }) =>
      JSON.stringify(asked.map(({ query, form, headers }) => [query.toString(), form.toString(), headers.referer])),
    );
    for (const text of sent) {
      expect(text).not.toMatch(/of-the-client|33418|mcp\.example\.com/);
    }
    const [one, two] = chain.fakes.map((fake) => fake.of('/token')[0]!.form);
    expect(sent[1]).not.toContain(one!.get('code'));
    expect(sent[0]).not.toContain(two!.get('code'));
  });
});

describe('provider callback while the storage is down', () => {
  it('answers 503 and issues nothing, and a later login finishes', async () => {
    let down = false;
    const chain = await startChain([{}], {
      wrap: (storage) =>
        new Proxy(storage, {
          get(target, name) {
            const value: unknown = Reflect.get(target, name);
            if (typeof value !== 'function') return value;
            return (...args: unknown[]) =>
              down && name === 'finishLogin'
                ? Promise.reject(new StorageUnavailable('down'))
                : (value.apply(target, args) as unknown);
          },
        }),
    });
    const robot = new Robot();
    const page = await chain.until(robot, alice, 'one');
    down = true;
    expect(await chain.goOn(robot, page, alice)).toMatchObject({ status: 503, next: undefined });
    down = false;
    expect(await linksOf(chain, 'alice')).toEqual({});
    backAtClient(await chain.walk(robot, alice));
  });
});
