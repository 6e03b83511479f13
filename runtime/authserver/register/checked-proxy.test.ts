import { readFileSync } from 'node:fs';
import { createServer as createProxy } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect as connectTo, type LookupFunction, type Socket } from 'node:net';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createCheckedProxyDispatcher } from '#lib/connections/checked-proxy';
import { createJsonClient } from '#runtime/incoming/json-client';
import { createClientDocuments, type ClientDocuments } from './client-documents.ts';

const TESTDATA = join(import.meta.dirname, '../../incoming/testdata');
const cert = readFileSync(join(TESTDATA, 'loopback-cert.pem'), 'utf8');
const key = readFileSync(join(TESTDATA, 'loopback-key.pem'), 'utf8');

const opened: { close(): unknown }[] = [];
let port: number;
/** Targets that the proxy was asked to connect to, with their Host headers. */
let asked: string[];
let proxy: string;

async function listen(server: Server | ReturnType<typeof createProxy>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push({
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  });
  return (server.address() as AddressInfo).port;
}

beforeEach(async () => {
  asked = [];
  const target = createServer({ cert, key }, (req, res) => {
    const servername = req.socket instanceof TLSSocket && req.socket.servername;
    res.end(JSON.stringify({ servername, host: req.headers.host }));
  });
  port = await listen(target);
  const through = createProxy();
  through.on('connect', (req, socket: Socket) => {
    asked.push(`${req.url ?? ''} ${req.headers.host ?? ''}`);
    const on = connectTo(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    on.on('error', () => socket.destroy())
      .pipe(socket.on('error', () => on.destroy()))
      .pipe(on);
    opened.push({ close: () => [socket.destroy(), on.destroy()] });
  });
  proxy = `http://127.0.0.1:${await listen(through)}`;
});
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

/** Returns a reader of documents as under an environment with a proxy. */
function documents(httpsProxy = proxy): ClientDocuments {
  const all = createClientDocuments({
    scopesSupported: ['mcp'],
    allowedRedirectHosts: undefined,
    now: () => 0,
    dispatcherFor: (connect) => createCheckedProxyDispatcher(connect, { httpsProxy }),
  });
  opened.push(all);
  return all;
}

/** Resolves every name to a public address. */
const publicName =
  (address: string, family: number): LookupFunction =>
  (_name, _options, found) =>
    found(null, address, family);

describe('client documents behind a proxy', () => {
  it.each([
    ['4', '192.0.2.7', '192.0.2.7:8443'],
    ['6', '2001:db8::7', '[2001:db8::7]:8443'],
  ])('connect to the checked address under the name of the host: IPv%s', async (family, address, target) => {
    const client = createJsonClient({
      allowPrivateAddress: true,
      allowHttp: false,
      readCaBundle: undefined,
      deadline: 5000,
      dispatcherFor: () =>
        createCheckedProxyDispatcher(
          { ca: cert, checkServerIdentity: () => undefined, lookup: publicName(address, Number(family)) },
          { httpsProxy: proxy },
        ),
    });
    opened.push(client);
    const said = await client.get('https://app.example.com:8443/client.json');
    expect(said).toEqual({ servername: 'app.example.com', host: 'app.example.com:8443' });
    expect(asked).toEqual([`${target} ${target}`]);
  });

  it.each([
    ['whose name leads to a private address', 'https://localhost/client.json', 'private address'],
    ['whose name nobody here knows', 'https://nowhere.invalid/client.json', 'cannot be called'],
    ['at a private address', 'https://10.0.0.1/client.json', 'private address'],
  ])('reject a document %s without asking the proxy', async (_, url, reason) => {
    await expect(documents().read(url)).rejects.toMatchObject({
      name: 'DocumentUnusable',
      cause: { message: expect.stringContaining(reason) },
    });
    expect(asked).toEqual([]);
  });

  it('reject a proxy that always resolves names itself', async () => {
    const read = documents('socks5://127.0.0.1:1080').read('https://app.example.com/client.json');
    await expect(read).rejects.toMatchObject({ name: 'DocumentUnusable' });
  });
});
