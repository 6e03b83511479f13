import { afterEach, describe, expect, it } from '@jest/globals';
import { Robot } from '../../../e2e/robot/robot.ts';
import type { Page } from '../../../e2e/robot/page.ts';
import { hashId, newId } from '../ids.ts';
import { backAtClient, closeAll, startChain, subAt, visits, type ChainOf } from './testdata/chain.ts';

afterEach(closeAll);

const alice = { user: 'alice' };
const OPTIONAL = [{}, { required: false }];
const unchecked = { ...alice, checks: { 'link=two': false } };
const subOf = ({ fakes }: ChainOf, name: string) => subAt(fakes[0]!.issuer, name);
const linksOf = (chain: ChainOf, name: string) => chain.server.storage.linksOf(subOf(chain, name));

/** Returns the form of the connections page for an action and a provider. */
function formOf(page: Page, action: string, provider?: string) {
  const form = page.forms.find(
    ({ fields, buttons }) =>
      [...fields, ...buttons].some(({ name, value }) => name === 'action' && value === action) &&
      (provider === undefined || fields.some(({ name, value }) => name === 'provider' && value === provider)),
  );
  if (form === undefined) throw new Error(`no form to ${action} in ${page.text}`);
  return { form };
}

async function signedIn(): Promise<{ chain: ChainOf; robot: Robot }> {
  const chain = await startChain(OPTIONAL);
  const robot = new Robot();
  backAtClient(await chain.walk(robot, unchecked));
  return { chain, robot };
}

describe('linking from the connections page', () => {
  it('visits that provider only, returns to the page, and notifies boundary 2', async () => {
    const { chain, robot } = await signedIn();
    const connections = await robot.open(chain.server.connections);
    const before = chain.server.changed.length;
    const page = await robot.walk(await robot.submit(connections, formOf(connections, 'link', 'two')), alice, {
      at: ({ url }) => url.pathname === '/connections',
    });
    expect(page.url.href).toBe(`${chain.server.connections}?linked=two`);
    expect(page.status).toBe(200);
    expect(chain.server.changed.slice(before)).toEqual([subOf(chain, 'alice')]);
    expect(chain.fakes.map(visits)).toEqual([1, 1]);
    const tokens = await chain.server.tokensOf(subOf(chain, 'alice'), 'two');
    expect(chain.fakes[1]!.userOf(tokens!.access_token)).toBe('alice');
  });

  it('reports a denial or a failure of the provider, and changes nothing', async () => {
    const { chain, robot } = await signedIn();
    const { host } = chain.fakes[1]!;
    const link = async (person: Parameters<Robot['walk']>[1]) => {
      const connections = await robot.open(chain.server.connections);
      return robot.walk(await robot.submit(connections, formOf(connections, 'link', 'two')), person);
    };
    const denied = await link({ ...alice, denies: ({ url }) => url.host === host });
    expect(denied).toMatchObject({ status: 403 });
    expect(denied.text).toContain('two was not linked');
    chain.fakes[1]!.setFault('token', 'fail');
    expect(await link(alice)).toMatchObject({ status: 503 });
    chain.fakes[1]!.setFault('token', 'html');
    expect(await link(alice)).toMatchObject({ status: 502 });
    expect(Object.keys(await linksOf(chain, 'alice'))).toEqual(['one']);
    expect(await chain.server.pending()).toBe(0);
  });

  it('fails when the user signed out in another tab', async () => {
    const { chain, robot } = await signedIn();
    const connections = await robot.open(chain.server.connections);
    const path = new URL(chain.server.callbackOf('two')).pathname;
    const link = formOf(connections, 'link', 'two');
    const atProvider = await robot.submit(connections, link);
    const tab = await robot.walk(atProvider, alice, { before: ({ pathname }) => pathname === path });
    await chain.server.storage.endUser(subOf(chain, 'alice'));
    expect(await robot.walk(tab, alice)).toMatchObject({ status: 400 });
    expect(await linksOf(chain, 'alice')).toEqual({});
  });
});

describe('sign-in at the connections page', () => {
  it('visits the primary provider and returns', async () => {
    const chain = await startChain(OPTIONAL);
    const robot = new Robot();
    const connections = await robot.open(chain.server.connections);
    const page = await robot.walk(await robot.submit(connections, formOf(connections, 'sign-in')), alice, {
      at: ({ url }) => url.pathname === '/connections',
    });
    expect(page.text).toContain('alice N.');
    expect(page.url.href).toBe(chain.server.connections);
    expect(page.text).not.toContain('is linked');
    expect(Object.keys(await linksOf(chain, 'alice'))).toEqual(['one']);
  });
});

describe('link URL', () => {
  async function ticketFor(chain: ChainOf, name: string): Promise<string> {
    const ticket = newId();
    const row = { sub: subOf(chain, name), provider: 'two' };
    await chain.server.storage.put('ticket', hashId(ticket), row, { lifespan: 600_000 });
    return `${chain.server.connections}/link?ticket=${ticket}`;
  }
  const at = ({ url }: Page) => url.pathname === '/connections';

  it('links for its user in a browser where the primary provider identifies the user first', async () => {
    const { chain } = await signedIn();
    const page = await new Robot().walk(await ticketFor(chain, 'alice'), alice, { at });
    expect(page.url.href).toBe(`${chain.server.connections}?linked=two`);
    expect(Object.keys(await linksOf(chain, 'alice'))).toEqual(['one', 'two']);
  });

  it('rejects another user, as identified by the primary provider, and links nothing', async () => {
    const { chain } = await signedIn();
    const page = await new Robot().walk(await ticketFor(chain, 'alice'), { user: 'mallory' }, { at });
    expect(page).toMatchObject({ status: 403 });
    expect(page.text).toContain('This link is for somebody else');
    expect(visits(chain.fakes[1]!)).toBe(0);
    expect(Object.keys(await linksOf(chain, 'alice'))).toEqual(['one']);
    expect(await linksOf(chain, 'mallory')).toEqual({});
  });

  it('links for an unidentified user only in the browser of the login', async () => {
    const chain = await startChain([{ fake: { oidc: false } }, { required: false }]);
    const robot = new Robot();
    const code = await chain.server.codeOf(backAtClient(await chain.walk(robot, unchecked)));
    const sub = code?.user.sub ?? '';
    const follow = async (browser: Robot) => {
      const ticket = newId();
      await chain.server.storage.put('ticket', hashId(ticket), { sub, provider: 'two' }, { lifespan: 600_000 });
      return browser.walk(`${chain.server.connections}/link?ticket=${ticket}`, alice, { at });
    };
    const refused = await follow(new Robot());
    expect(refused).toMatchObject({ status: 403 });
    expect(refused.text).toContain('Start again from your application');
    expect(Object.keys(await chain.server.storage.linksOf(sub))).toEqual(['one']);
    expect((await follow(robot)).url.href).toBe(`${chain.server.connections}?linked=two`);
    expect(Object.keys(await chain.server.storage.linksOf(sub))).toEqual(['one', 'two']);
  });
});
