import type { Page } from 'playwright-core';
import { serveWebHandler } from '../fakes/http/serve-web-handler.ts';
import { openChromium } from '../pages/chromium.ts';
import { bundlePage } from './bundle-page.ts';

interface HostInPage {
  connect(url: string, revision: string, headers: Record<string, string>): Promise<ShownTool[]>;
  read(uri: string): Promise<string>;
  show(name: string): Promise<void>;
}
interface AppInPage {
  callTool(name: string): Promise<string>;
  toolName(): string;
}
/** A tool as the host sees it. `uri`: its app; null: it has none. */
interface ShownTool {
  readonly name: string;
  readonly uri: string | null;
}

/** A host that runs in Chromium, and the origin of its page. */
export interface BrowserHost {
  readonly origin: string;
  open(): Promise<HostPage>;
  close(): Promise<void>;
}

/** Starts Chromium, and serves the page of a host. */
export async function startHost(): Promise<BrowserHost> {
  const page = `<!doctype html><title>host</title><script type="module">${await bundlePage('host-page.js')}</script>`;
  const answer = () => new Response(page, { headers: { 'content-type': 'text/html; charset=utf-8' } });
  const server = await serveWebHandler(() => Promise.resolve(answer()), 0);
  const { context, close } = await openChromium();
  return {
    origin: server.origin,
    open: async () => new HostPage(await openPage(await context.newPage(), server.origin)),
    async close() {
      await close();
      await server.close();
    },
  };
}

async function openPage(page: Page, origin: string): Promise<Page> {
  await page.goto(origin);
  await page.waitForFunction(() => 'host' in globalThis);
  return page;
}

/** The page of a host. */
class HostPage {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  connect(url: string, revision: string, headers: Record<string, string> = {}): Promise<ShownTool[]> {
    return this.#page.evaluate(
      ([to, of, more]) => (globalThis as unknown as { host: HostInPage }).host.connect(to, of, more),
      [url, revision, headers] as const,
    );
  }

  read(uri: string): Promise<string> {
    return this.#page.evaluate((wanted) => (globalThis as unknown as { host: HostInPage }).host.read(wanted), uri);
  }

  /** Calls the tool and shows its app. */
  async show(name: string) {
    await this.#page.evaluate((shown) => (globalThis as unknown as { host: HostInPage }).host.show(shown), name);
    const frame = this.#page.frame(name);
    if (!frame) throw new Error(`no frame ${name}`);
    return {
      press: (button: string) => frame.getByRole('button', { name: button }).click(),
      title: () => frame.locator('h1').innerText(),
      result: () => frame.locator('output').filter({ hasText: /^[^…]/ }).innerText(),
      /** Calls a tool from the app. Returns the text of its result or error. */
      call: (tool: string) => frame.evaluate((called) => (globalThis as unknown as AppInPage).callTool(called), tool),
      /** Returns the name of the app's tool, as the host tells the app. */
      toolName: () => frame.evaluate(() => (globalThis as unknown as AppInPage).toolName()),
    };
  }
}
