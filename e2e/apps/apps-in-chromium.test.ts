import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { protectedGateway } from '../attacks/protected-gateway.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
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

  it('shows the app of the quickstart, whose button calls its tool', async () => {
    const args = [join(import.meta.dirname, '../fakes/clock/main.ts')];
    const clock = { name: 'clock', transport: 'stdio' as const, command: process.execPath, args };
    const gateway = await gatewayTo({}, { backends: [clock], allowed_origins: [host.origin] });
    const page = await host.open();
    await page.connect(gateway.url, revision);
    const app = await page.show('clock_now');
    const first = await app.result();
    await app.press('Refresh');
    await until('a later time', async () => (await app.result()) > first);
  });

  /** Shows the app of a tool behind a gateway that rewrites the calls of apps. */
  async function showRewritten(aggregation: GatewayConfig['aggregation'], apps: Record<string, string>, tool: string) {
    const gateway = await gatewayTo(apps, {
      aggregation: { ...aggregation, apps: { rewrite_calls: true } },
      allowed_origins: [host.origin],
    });
    const page = await host.open();
    await page.connect(gateway.url, revision);
    return page.show(tool);
  }

  it('sends the calls of an app to its own backend with rewriteCalls, in text and in base64', async () => {
    const [one, two] = [closing(await serveApp('one')), closing(await serveApp('two', { isBlob: true }))];
    const backends = { one: `${one.origin}/mcp`, save: `${two.origin}/mcp` };
    const first = await showRewritten({}, backends, 'one_show');
    expect(await first.result()).toBe('show of one');
    expect([await first.call('who'), await first.call('one_who')]).toEqual(['who of one', 'who of one']);
    expect(await first.call('save_two')).toContain('Unknown tool');
    // The own name of this tool begins with the prefix.
    const second = await showRewritten({}, backends, 'save_show');
    expect([await second.call('who'), await second.call('save_two')]).toEqual(['who of two', 'save_two of two']);
    expect(await second.call('save_who')).toBe('who of two');
  });

  it('follows overrides of names with rewriteCalls', async () => {
    const tools = [{ workload: 'two', overrides: { who: { name: 'owner' }, show: { name: 'present' } } }];
    const app = await showRewritten({ conflict_resolution: 'manual', tools }, await startBackends(), 'present');
    expect([await app.call('who'), await app.call('save_two')]).toEqual(['who of two', 'save_two of two']);
  });

  it('calls the winner of a name under priority, and fails with rewriteCalls', async () => {
    const aggregation = { conflict_resolution: 'priority' as const, priority_order: ['one', 'two'] };
    const backends = await startBackends();
    const gateway = await gatewayTo(backends, { aggregation, allowed_origins: [host.origin] });
    const page = await host.open();
    await page.connect(gateway.url, revision);
    expect(await (await page.show('save_two')).call('who')).toBe('who of one');
    const app = await showRewritten(aggregation, backends, 'save_two');
    expect(await app.call('who')).toContain('Unknown tool');
    expect(await app.call('save_two')).toBe('save_two of two');
  });
});
