import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { listenOn } from '#runtime/http/listen-on';
import { arrange, type Arrangement } from '../authserver/arrangement.ts';
import { OAuthClient, tokensOf, type Came } from '../authserver/oauth-client.ts';
import type { ProviderSpec } from '../authserver/providers.ts';
import { describeOnEachStorage } from '../authserver/storages.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { NO_CHROMIUM, openChromium } from './chromium.ts';

/** Milliseconds that each request at the provider takes, so that second clicks meet every step of a login. */
const PACE = 60;
const OKTA: ProviderSpec = {
  name: 'okta',
  kind: 'odd',
  options: { oidc: true, refresh: 'rotates', expiresIn: 3_600, before: () => sleep(PACE) },
};
/** Milliseconds between the clicks. */
const GAPS = [0, 10, 40, 80, 130, 200, 300, 450];

/** Starts a program on this machine that waits for its code, redeems the first one, and shows a page. */
async function startProgram(setup: Arrangement) {
  let client: OAuthClient | undefined;
  let begun: ReturnType<OAuthClient['begin']> | undefined;
  let redeemed: Promise<Came> | undefined;
  const server = createServer((request, response) => {
    const code = new URL(request.url ?? '/', 'http://127.0.0.1').searchParams.get('code');
    if (code !== null && client && begun) redeemed ??= client.redeem({ ...begun, code });
    response.setHeader('content-type', 'text/html').end('<h1>Back at the program</h1>');
  });
  const redirect = `http://127.0.0.1:${await listenOn(server, '127.0.0.1', 0)}/callback`;
  closing({ close: () => server.close() });
  return {
    /** Registers a new client, so that the server asks for consent. Returns the URL to open. */
    async begin(): Promise<string> {
      client = await OAuthClient.register(setup.origin, { redirect_uris: [redirect] });
      [begun, redeemed] = [client.begin(), undefined];
      return begun.url;
    },
    /** @throws if the program gets no tokens, or if a repeated code revoked its session. */
    async expectSession(): Promise<void> {
      await until('the code at the program', () => redeemed !== undefined);
      const { refresh_token } = tokensOf(await redeemed!);
      expect((await client!.refresh(refresh_token)).status).toBe(200);
    },
  };
}

/** Clicks twice at the place of the button, as a hand does, even after the page has changed. */
async function doubleClick(tab: Page, name: string, gap: number): Promise<void> {
  const button = tab.getByRole('button', { name, exact: true });
  await button.scrollIntoViewIfNeeded();
  const box = await button.boundingBox();
  if (box === null) throw new Error(`no button ${name}`);
  const at = [box.x + box.width / 2, box.y + box.height / 2] as const;
  await tab.mouse.click(...at);
  await sleep(gap);
  await tab.mouse.click(...at);
}

const inChromium = NO_CHROMIUM === undefined ? describe : describe.skip;

inChromium('a second click in Chromium', () => {
  describeOnEachStorage('on', (fixture) => {
    let chromium: Awaited<ReturnType<typeof openChromium>>;
    let setup: Arrangement;
    let tab: Page;
    let program: Awaited<ReturnType<typeof startProgram>>;
    beforeAll(async () => {
      setup = closing(await arrange({ providers: [OKTA], storage: fixture().fresh() }));
      program = await startProgram(setup);
      chromium = await openChromium();
      tab = await chromium.context.newPage();
      // From then on, the provider remembers the person.
      await tab.goto(await program.begin());
      await tab.getByRole('button', { name: 'Allow' }).click();
      await tab.locator('input[name=login]').fill('alice');
      await tab.keyboard.press('Enter');
      await tab.getByText('Back at the program').waitFor();
    }, 120_000);
    afterAll(async () => {
      await chromium.close();
      await closeAll();
    });

    const endsWell = async () => {
      await tab.getByText(/Back at the program|This sign-in is finished/).waitFor();
      await program.expectSession();
    };

    it.each(GAPS)('loses no first login after %d ms', async (gap) => {
      await chromium.context.clearCookies({ name: /^vmcp-/ });
      await tab.goto(await program.begin());
      await doubleClick(tab, 'Allow', gap);
      await endsWell();
    });

    it.each(GAPS)('loses no login of a signed-in user after %d ms', async (gap) => {
      await tab.goto(await program.begin());
      await doubleClick(tab, 'Allow', gap);
      await endsWell();
    });

    it('shows the finished page once the program has used the code', async () => {
      await tab.goto(await program.begin());
      const posted = tab.waitForRequest((request) => request.url().endsWith('/oauth/consent'));
      await tab.getByRole('button', { name: 'Allow' }).click();
      const form = new URLSearchParams((await posted).postData() ?? '');
      await endsWell();
      const again = await chromium.context.request.post(`${setup.origin}/oauth/consent`, {
        form: Object.fromEntries(form),
        headers: { 'sec-fetch-site': 'same-origin' },
      });
      expect([again.status(), await again.text()]).toEqual([200, expect.stringContaining('This sign-in is finished')]);
      await program.expectSession();
    });

    it.each(['Unlink okta', 'Sign out everywhere'])('runs %s once, and shows its result', async (name) => {
      await tab.goto(`${setup.origin}/connections`);
      const signIn = tab.getByRole('button', { name: 'Sign in with okta' });
      if (await signIn.isVisible()) await doubleClick(tab, 'Sign in with okta', 40);
      await tab.getByRole('heading', { name: 'Your connections' }).waitFor();
      await tab.getByRole('button', { name: `${name}…`.replace('okta…', 'okta'), exact: true }).click();
      await tab.getByRole('heading', { name: `${name}?` }).waitFor();
      await doubleClick(tab, name, 10);
      const after = name === 'Unlink okta' ? 'Sign in to see your connections' : 'You are signed out everywhere';
      await tab.getByRole('heading', { name: after }).waitFor();
    });
  });
});
