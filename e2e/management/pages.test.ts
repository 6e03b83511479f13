import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { findFreePort } from '../gateway/find-free-port.ts';
import { server, whoami } from '../local/manifests.ts';
import { NO_CHROMIUM, openChromium } from '../pages/chromium.ts';
import { type RunningApi, useApi } from './use-api.ts';

/** A foreign name that resolves to this machine, as after DNS rebinding. */
const REBOUND = 'evil.example';
const inChromium = NO_CHROMIUM === undefined ? describe : describe.skip;

let api: RunningApi;
let site: Server;
let browser: { context: BrowserContext; close: () => Promise<void> };
let page: Page;
const clients = async () => ((await (await api.call('GET', '/clients')).json()) as { clients: unknown[] }).clients;
const portOf = ({ port }: AddressInfo) => port;

beforeAll(async () => {
  if (NO_CHROMIUM !== undefined) return;
  api = await useApi({
    'server.yaml': server('demo', await findFreePort()),
    'whoami.yaml': whoami('whoami', 'demo', await findFreePort()),
  });
  site = createServer(
    (_, response) => void response.setHeader('Content-Type', 'text/html').end('<title>a page</title>'),
  );
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  browser = await openChromium({}, [`--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`]);
  page = await browser.context.newPage();
}, 60_000);
afterAll(async () => {
  if (NO_CHROMIUM !== undefined) return;
  await browser.close();
  site.close();
  await api.close();
}, 30_000);

/** The request options that a script of the page sends. */
interface Sent {
  method?: string;
  body?: string;
  headers?: Record<string, string>;
  mode?: 'no-cors';
  credentials?: 'include';
}

/** The parts of an answer that a script of the page can read. */
interface Learned {
  type: string;
  status: number;
  text: string;
}

async function ask(url: string, init: Sent): Promise<Learned | string> {
  return page.evaluate(
    async ([to, how]) => {
      try {
        const answer = await fetch(to, how);
        return { type: answer.type, status: answer.status, text: await answer.text() };
      } catch (error) {
        return String(error);
      }
    },
    [url, init] as const,
  );
}

inChromium(
  `a page of another site in a real browser${NO_CHROMIUM === undefined ? '' : ` (skipped: ${NO_CHROMIUM})`}`,
  () => {
    const body = JSON.stringify({ name: 'cursor' });
    const json = { 'content-type': 'application/json' };
    const sites = (): [string, string][] => [
      ['another port of this machine', `http://localhost:${portOf(site.address() as AddressInfo)}/`],
      ['a name that leads here', `http://${REBOUND}:${portOf(site.address() as AddressInfo)}/`],
    ];

    it('learns nothing and changes nothing, even with the token', async () => {
      const authorization = `Bearer ${api.token}`;
      const inits: Sent[] = [
        { method: 'GET' },
        { method: 'GET', headers: { authorization } },
        { method: 'POST', body, headers: { ...json, authorization } },
        { method: 'POST', body, headers: { 'content-type': 'text/plain' } },
        { method: 'POST', body, mode: 'no-cors', credentials: 'include' },
        { method: 'DELETE', headers: { authorization } },
      ];
      for (const [what, url] of sites()) {
        await page.goto(url);
        for (const init of inits) {
          const learned = await ask(`${api.url}/clients`, init);
          const text = typeof learned === 'string' ? learned : `${learned.type} ${learned.status} ${learned.text}`;
          expect([what, init, text]).toEqual([
            what,
            init,
            expect.stringMatching(/^TypeError: Failed to fetch|^opaque 0 $/),
          ]);
        }
      }
      expect(await clients()).toEqual([]);
    });

    it('changes nothing by a form, an image, a beacon or a link', async () => {
      for (const [, url] of sites()) {
        await page.goto(url);
        const beacon = `navigator.sendBeacon("${api.url}/clients", new Blob(['{"name":"cursor"}'], { type: 'text/plain' }))`;
        const sent = page.waitForRequest(`${api.url}/clients?image`);
        await page.setContent(`<script>${beacon}</script><img src="${api.url}/clients?image">`);
        await sent;
        // The text of the form is also valid JSON.
        await page.setContent(
          `<form method="post" enctype="text/plain" action="${api.url}/clients"><input name='{"name":"cursor","x":"' value='"}'><button>go</button></form>`,
        );
        const [answer] = await Promise.all([page.waitForResponse(`${api.url}/clients`), page.click('button')]);
        expect(answer.status()).toBe(403);
        await page.goto(url);
        await page.setContent(`<a href="${api.url}/clients">go</a>`);
        const [followed] = await Promise.all([page.waitForResponse(`${api.url}/clients`), page.click('a')]);
        expect(followed.status()).toBe(403);
      }
      expect(await clients()).toEqual([]);
      // The page cannot fill the audit log either.
      expect(existsSync(join(api.place.path, '.vmcp/logs/management-audit.log'))).toBe(false);
    });

    it('gets 403 under a name that resolves to the server', async () => {
      const rebound = api.url.replace('127.0.0.1', REBOUND);
      const answer = await page.goto(`${rebound}/version`);
      expect([answer?.status(), await answer?.json()]).toEqual([
        403,
        expect.objectContaining({ code: 'foreign_host' }),
      ]);
      // The page's own origin now, so that no other browser rule blocks the request.
      const init = { method: 'POST', body, headers: { ...json, authorization: `Bearer ${api.token}` } };
      expect(await ask(`${rebound}/clients`, init)).toMatchObject({ status: 403 });
      expect(await ask(`${rebound}/clients`, { headers: { authorization: `Bearer ${api.token}` } })).toMatchObject({
        status: 403,
      });
      expect(await clients()).toEqual([]);
    });

    it('gets headers that forbid caching, sharing between origins and guessing the type', async () => {
      const { headers } = await api.call('GET', '/version');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
    });
  },
);
