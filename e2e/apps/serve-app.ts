import { registerAppResource, registerAppTool } from '@modelcontextprotocol/ext-apps/server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { serveWebHandler, type RunningServer } from '../fakes/http/serve-web-handler.ts';
import { bundlePage } from './bundle-page.ts';

export const APP_URI = 'ui://chart/view.html';
const TYPE = 'text/html;profile=mcp-app';

interface AppOptions {
  /** Content of `head` before the script of the app. */
  readonly head?: string;
  /** Attributes of the app's script. */
  readonly attributes?: string;
  /** Whether the page is sent as base64. */
  readonly isBlob?: boolean;
}

/**
 * Starts an SDK server with an app of the SDK. Its tool `show` has the app; `who` and `save_<title>` are for the app. Each
 * tool answers with its own name and the title.
 */
export async function serveApp(
  title: string,
  { head = '', attributes = '', isBlob }: AppOptions = {},
): Promise<RunningServer> {
  const script = await bundlePage('app-page.js');
  const page = `<!doctype html><html><head>${head}</head><body><h1>${title}</h1><output></output><script type="module"${attributes}>${script}</script></body></html>`;
  const content = isBlob === true ? { blob: Buffer.from(page).toString('base64') } : { text: page };
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: title, version: '1' });
    for (const name of ['show', 'who', `save_${title}`]) {
      const settings = { inputSchema: z.object({}), _meta: { ui: { resourceUri: APP_URI } } };
      registerAppTool(server, name, settings, () => ({ content: [{ type: 'text', text: `${name} of ${title}` }] }));
    }
    registerAppResource(server, title, APP_URI, {}, () => ({
      contents: [{ uri: APP_URI, mimeType: TYPE, ...content }],
    }));
    return server;
  });
  return serveWebHandler((request) => handler.fetch(request), 0);
}
