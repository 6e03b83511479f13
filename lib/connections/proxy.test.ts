import type { Socket } from 'node:net';
import { createServer } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type Dispatcher, request } from 'undici';
import { createCheckedProxyDispatcher } from './checked-proxy.ts';
import { publicLookup } from './public-lookup.ts';
import { createProxyDispatcher, type ProxySettings } from './proxy.ts';
import { bindServer } from './bind-server.ts';

let proxy: ProxySettings;
const held = new Set<Socket>();
const silent = () => createServer((socket) => void held.add(socket.on('error', () => undefined)));
let server: ReturnType<typeof silent>;
let dispatcher: Dispatcher | undefined;
beforeEach(async () => {
  server = silent();
  const port = await bindServer(server, { host: '127.0.0.1', port: 0 });
  proxy = { httpProxy: `http://127.0.0.1:${port}`, httpsProxy: `http://127.0.0.1:${port}` };
});
afterEach(async () => {
  await dispatcher?.destroy();
  for (const socket of held) socket.destroy();
  held.clear();
  await new Promise((resolve) => server.close(resolve));
});

it.each<[string, () => Dispatcher]>([
  ['any', () => createProxyDispatcher({ timeout: 300 }, proxy)],
  [
    'one that is asked for addresses',
    () => createCheckedProxyDispatcher({ timeout: 300, lookup: publicLookup() }, proxy),
  ],
])(
  'a proxy that opens no way is given up in the time of a connection: %s',
  async (_what, open) => {
    dispatcher = open();
    const failed = request('https://93.184.216.34/', { dispatcher, signal: AbortSignal.timeout(60_000) });
    await expect(failed).rejects.toMatchObject({ code: 'UND_ERR_HEADERS_TIMEOUT' });
    expect(held.size).toBe(1);
  },
  30_000,
);

it.each(['http', 'https'])(
  'createCheckedProxyDispatcher never asks a proxy for a private host, over %s',
  async (scheme) => {
    dispatcher = createCheckedProxyDispatcher({ timeout: 20_000, lookup: publicLookup() }, proxy);
    const failed = request(`${scheme}://localhost:9/`, { dispatcher, signal: AbortSignal.timeout(60_000) });
    await expect(failed).rejects.toThrow('private address');
    expect(held.size).toBe(0);
  },
);
