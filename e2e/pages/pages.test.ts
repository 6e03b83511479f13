import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import type { AxeResults } from 'axe-core';
import type { BrowserContext, Page } from 'playwright-core';
import { htmlAnswer } from '#runtime/authserver/handler';
import type { AuthStorage } from '#runtime/authserver/storage/storage';
import {
  REDIRECT,
  startLoginEndpoints,
  userNamed,
  type LoginEndpointServer,
} from '#runtime/authserver/testdata/login-endpoints';
import { listenOn } from '#runtime/http/listen-on';
import { NO_CHROMIUM, openChromium } from './chromium.ts';
import { PAGES, type ShownPage } from './pages.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const GROUNDS = [
  ['light', 'rgb(243, 244, 247)'],
  ['dark', 'rgb(15, 18, 23)'],
] as const;
const ALICE = userNamed('alice');

const reasonNotTo = NO_CHROMIUM === undefined ? '' : ` (skipped: ${NO_CHROMIUM})`;
const inChromium = NO_CHROMIUM === undefined ? describe : describe.skip;

let server: LoginEndpointServer;
beforeAll(async () => {
  server = await startLoginEndpoints({
    config: { limits: { registrations_per_minute: 1000 } },
    nextStep: () => Promise.resolve(htmlAnswer('<title>next</title>the next step')),
  });
});
afterAll(() => server.close());

async function withCookie(context: BrowserContext, cookie: string | undefined): Promise<void> {
  await context.clearCookies();
  const [name = '', value = ''] = (cookie ?? '').split('=');
  if (cookie !== undefined) await context.addCookies([{ name, value, url: server.origin, sameSite: 'Lax' }]);
}

/** Opens a page and waits for its heading. */
async function show(tab: Page, { open, heading, press = [] }: ShownPage): Promise<void> {
  const { url, cookie } = await open(server);
  await withCookie(tab.context(), cookie);
  await tab.goto(url);
  for (const name of press) await tab.getByRole('button', { name, exact: true }).click();
  await tab.getByRole('heading', { level: 1, name: heading }).waitFor();
}

/** Returns the rules that the page breaks (WCAG 2.2 AA and best practice). The page's own policy, which allows no script, stays active. */
async function breaches(tab: Page): Promise<string[]> {
  const { violations } = await tab.evaluate<AxeResults>(`axe.run({ resultTypes: ['violations'] })`);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** Wraps a storage so that it calls `before` ahead of each call of one operation. */
function interceptCalls(
  storage: AuthStorage,
  name: keyof AuthStorage,
  before: (...args: unknown[]) => Promise<void>,
): AuthStorage {
  return new Proxy(storage, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]) => {
        if (key === name) await before(...args);
        return (member as (...all: unknown[]) => unknown).apply(target, args);
      };
    },
  });
}

/** Starts another site on this machine, with one page that a test writes. */
async function startForeignSite() {
  let body = '';
  const site = createServer((_req, res) => res.setHeader('content-type', 'text/html').end(body));
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  return {
    page(html: string): string {
      body = html;
      return `http://localhost:${(site.address() as AddressInfo).port}/`;
    },
    async close() {
      site.closeAllConnections();
      await new Promise((resolve) => site.close(resolve));
    },
  };
}

inChromium(`the pages in Chromium${reasonNotTo}`, () => {
  let chromium: Awaited<ReturnType<typeof openChromium>>;
  /** One tab for all tests, because opening one costs more than a test. */
  let tab: Page;
  /** Messages of the browser about the current page. */
  let said: string[];
  beforeAll(async () => {
    chromium = await openChromium();
    tab = await chromium.context.newPage();
    tab.on('console', (message) => said.push(message.text()));
    tab.on('pageerror', (error) => said.push(error.message));
  });
  afterAll(() => chromium.close());

  // Each page opens once, on a small screen. Then the tests examine it on a large one.
  describe.each(PAGES)('$name', (page) => {
    beforeAll(async () => {
      said = [];
      await tab.setViewportSize({ width: 320, height: 640 });
      await show(tab, page);
    });

    it('needs no horizontal scrolling at 320 px, and its policy blocks none of its content', async () => {
      expect(await tab.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
      expect(await tab.evaluate('document.styleSheets.length')).toBe(1);
      expect(said.filter((text) => !text.includes('status of 4'))).toEqual([]);
    });

    it('breaks no accessibility rule in light and in dark, each on its own background', async () => {
      await tab.setViewportSize({ width: 1024, height: 800 });
      await tab.evaluate(AXE);
      for (const [colorScheme, ground] of GROUNDS) {
        await tab.emulateMedia({ colorScheme });
        expect(await tab.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(ground);
        expect(await breaches(tab)).toEqual([]);
      }
    });
  });

  it('apply a policy that runs no script and requests no other host', async () => {
    said = [];
    await show(tab, PAGES[0]);
    const refused = tab.waitForEvent('console');
    await tab.evaluate(
      `document.body.insertAdjacentHTML('beforeend', '<img src="https://evil.example/x.png" onerror="x">')`,
    );
    await refused;
    expect(said.join()).toContain('Content Security Policy');
    expect(await tab.locator('script').count()).toBe(0);
  });

  describe('for users', () => {
    let client: string;
    let foreign: Awaited<ReturnType<typeof startForeignSite>>;
    beforeAll(async () => {
      foreign = await startForeignSite();
      client = await server.register([REDIRECT], { client_name: 'Cursor' });
    });
    afterAll(() => foreign.close());

    /** Returns the text of the focused element. */
    const focused = (tab: Page) =>
      tab.evaluate<string>('document.activeElement.textContent.trim() || document.activeElement.value');

    it('accept consent by the keyboard alone', async () => {
      await withCookie(chromium.context, undefined);
      await tab.goto(server.authorizeUrl(client));
      const order: string[] = [];
      for (let tabs = 0; tabs < 4; tabs += 1) {
        await tab.keyboard.press('Tab');
        order.push(await focused(tab));
      }
      expect(order).toEqual(['github', 'Allow', 'Deny', 'your connections']);
      await tab.keyboard.press('Shift+Tab');
      await tab.keyboard.press('Shift+Tab');
      await tab.keyboard.press('Shift+Tab');
      await tab.keyboard.press('Space');
      await tab.keyboard.press('Tab');
      expect(await tab.evaluate(`getComputedStyle(document.activeElement).outlineStyle`)).toBe('solid');
      await tab.keyboard.press('Enter');
      await tab.waitForURL(server.urls.consent);
      expect(await tab.title()).toBe('next');
      expect(server.steps.at(-1)).toMatchObject({ login: { remaining: ['okta'], request: { client_id: client } } });
    });

    it('send a denial to the client', async () => {
      await withCookie(chromium.context, undefined);
      let referer: string | undefined = 'none seen';
      const program = createServer((request, response) => {
        if (request.url?.startsWith('/callback')) ({ referer } = request.headers);
        response.end('back at the client');
      });
      // RFC 8252 §7.3: a program on this machine chooses any port.
      const back = `http://127.0.0.1:${await listenOn(program, '127.0.0.1', 0)}/callback`;
      const atClient = (url: URL) => url.href.startsWith(back);
      await tab.goto(server.authorizeUrl(client, { redirect_uri: back }));
      await tab.getByRole('button', { name: 'Deny' }).click();
      await tab.waitForURL(atClient);
      const answer = new URL(tab.url()).searchParams;
      expect([answer.get('error'), answer.get('state'), answer.get('iss')]).toEqual([
        'access_denied',
        'st-1',
        server.urls.issuer,
      ]);
      expect(referer).toBeUndefined();
      program.close();
    });

    it('continue both logins of two tabs that were opened without a cookie', async () => {
      const gate = Promise.withResolvers<undefined>();
      let asked = 0;
      // The server stores both logins before it answers either.
      const wrap = (storage: AuthStorage) =>
        interceptCalls(storage, 'put', async (kind) => {
          if (kind !== 'login') return;
          if ((asked += 1) === 2) gate.resolve(undefined);
          await gate.promise;
        });
      const steps = () => Promise.resolve(htmlAnswer('the next step'));
      const slow = await startLoginEndpoints({ nextStep: steps, wrap });
      const app = await slow.register([REDIRECT], { client_name: 'Cursor' });
      await chromium.context.clearCookies();
      const tabs = await Promise.all([chromium.context.newPage(), chromium.context.newPage()]);
      await Promise.all(tabs.map((tab, index) => tab.goto(slow.authorizeUrl(app, { state: `st-${index}` }))));
      expect(await chromium.context.cookies(slow.origin)).toHaveLength(1);
      for (const tab of tabs) {
        await tab.getByRole('button', { name: 'Allow' }).click();
        await tab.getByText('the next step').waitFor();
        await tab.close();
      }
      const [one, two] = slow.steps;
      expect(one?.login.id).not.toBe(two?.login.id);
      for (const { login, browser } of slow.steps) expect(login.browser).toBe(browser.id);
      await slow.close();
    });

    it('repeat no step after the back button', async () => {
      await withCookie(chromium.context, undefined);
      await tab.goto(server.authorizeUrl(client));
      await tab.getByRole('button', { name: 'Allow' }).click();
      await tab.getByText('the next step').waitFor();
      const steps = server.steps.length;
      await tab.goBack();
      await tab.getByRole('heading', { name: 'Cursor' }).waitFor();
      await tab.getByRole('button', { name: 'Allow' }).click();
      await tab.getByText('the next step').waitFor();
      // The browser does not store the page, so it requests a new one, with a separate login.
      expect(server.steps).toHaveLength(steps + 1);
      expect(server.steps.at(-1)?.login.id).not.toBe(server.steps.at(-2)?.login.id);
    });

    it('do not appear in a frame of another page', async () => {
      await withCookie(chromium.context, undefined);
      const url = server.authorizeUrl(client).replaceAll('&', '&amp;');
      await tab.goto(foreign.page(`<h1>Win</h1><iframe src=\"${url}\"></iframe>`));
      const texts = await Promise.all(tab.frames().map((frame) => frame.locator('body').textContent()));
      expect(texts.join()).not.toContain('Cursor');
    });

    it('ignore a form that another page sends', async () => {
      const cookie = await server.logIn(ALICE);
      await withCookie(chromium.context, cookie);
      const { hidden } = await server.visit(server.authorizeUrl(client), { cookie });
      const steps = server.steps.length;
      await tab.goto(
        foreign.page(
          `<form method="post" action="${server.urls.consent}"><input name="ticket" value="${hidden('ticket')}">
            <button name="decision" value="allow">Win</button></form>`,
        ),
      );
      await tab.getByRole('button').click();
      await tab.waitForURL(server.urls.consent);
      expect(await tab.locator('h1').textContent()).toContain('another browser');
      expect(server.steps).toHaveLength(steps);
    });

    it('ask before they unlink a provider, and show the result', async () => {
      await withCookie(chromium.context, await server.logIn(ALICE, { okta: {}, github: {} }));
      await tab.goto(server.urls.connections);
      await tab.getByRole('button', { name: 'Unlink github' }).click();
      await tab.getByRole('heading', { name: 'Unlink github?' }).waitFor();
      await tab.getByRole('button', { name: 'Unlink github' }).click();
      await tab.getByText('Not linked').waitFor();
      expect(await tab.getByRole('listitem').last().textContent()).toMatch(/github[\s\S]*Not linked/);
    });
  });
});
