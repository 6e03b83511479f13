import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { protectedGateway } from '../attacks/protected-gateway.ts';
import { NO_CHROMIUM } from '../pages/chromium.ts';
import { closeAll, closing, configTo, gatewayTo } from '../relay/gateway-to.ts';
import { startHost, type BrowserHost } from './open-host.ts';
import { APP_URI, serveApp } from './serve-app.ts';

afterEach(closeAll);

const ALIAS = 'ui://two.chart/view.html';
const SEVERAL = 'Several tools have this name; call one_who or two_who';

/** Starts two backends whose apps have one URI. Returns their URLs by name. */
async function startBackends() {
  const [one, two] = [closing(await serveApp('one')), closing(await serveApp('two'))];
  return { one: `${one.origin}/mcp`, two: `${two.origin}/mcp` };
}

const inChromium = NO_CHROMIUM === undefined ? describe : describe.skip;

inChromium.each(['2025-11-25', '2026-07-28'])('the host of the apps SDK in Chromium (%s)', (revision) => {
  let host: BrowserHost;
  beforeAll(async () => {
    host = await startHost();
  });
  afterAll(() => host.close());

  it('renders the apps of two backends with one URI, whose calls reach their own backend', async () => {
    const backends = await startBackends();
    const gateway = await gatewayTo(backends, { allowed_origins: [host.origin] });
    const page = await host.open();
    const tools = await page.connect(gateway.url, revision);
    expect(tools.find(({ name }) => name === 'one_show')?.uri).toBe(APP_URI);
    expect(tools.find(({ name }) => name === 'two_show')?.uri).toBe(ALIAS);
    for (const name of ['one', 'two']) {
      const app = await page.show(`${name}_show`);
      expect(await app.title()).toBe(name);
      expect(await app.result()).toBe(`show of ${name}`);
      expect(await app.call(`save_${name}`)).toBe(`save_${name} of ${name}`);
      expect(await app.call('who')).toContain(SEVERAL);
      const prefix = (await app.toolName()).replace(/show$/, '');
      expect(await app.call(`${prefix}who`)).toBe(`who of ${name}`);
    }
  });

  it('gets no reference to an app that a policy denies to bob, and cannot read it', async () => {
    const backends = await startBackends();
    const policies = [
      'permit(principal, action, resource);',
      `forbid(principal == Client::"bob", action == Action::"read_resource", resource == Resource::"${ALIAS}");`,
    ];
    const { backends: documents } = configTo(backends);
    const { gateway, bearer } = await protectedGateway({
      config: { backends: documents, allowed_origins: [host.origin], authz: { type: 'cedarv1', policies } },
    });
    const [alice, bob] = [await host.open(), await host.open()];
    const seenBy = async (page: typeof alice, sub: string) =>
      (await page.connect(gateway.url, revision, await bearer({ sub }))).filter(({ name }) => name.endsWith('_show'));
    expect((await seenBy(alice, 'alice')).map(({ uri }) => uri)).toEqual([APP_URI, ALIAS]);
    expect((await seenBy(bob, 'bob')).map(({ uri }) => uri)).toEqual([APP_URI, null]);
    expect(await (await alice.show('two_show')).title()).toBe('two');
    await expect(bob.read(ALIAS)).rejects.toThrow('Unknown resource');
    expect(await bob.read(APP_URI)).toContain('<h1>one</h1>');
  });
});
