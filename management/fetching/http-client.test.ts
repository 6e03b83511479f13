import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { checkTarget } from './check-target.ts';
import { createHttpClient, type HttpClient } from './http-client.ts';
import { readBody, readJson } from './read-body.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Answer = Parameters<typeof createServer>[1] & {};

async function serve(answer: Answer): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => (server.closeAllConnections(), new Promise((resolve) => server.close(resolve))));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function client(allowPrivateAddress: boolean, proxy?: string): HttpClient {
  const made = createHttpClient({
    allowPrivateAddress,
    remedy: 'do this',
    proxy: proxy === undefined ? undefined : { httpProxy: proxy, httpsProxy: proxy },
  });
  closing.push(() => made.close());
  return made;
}

const signal = () => AbortSignal.timeout(5000);

describe('createHttpClient', () => {
  it.each([
    'https://127.0.0.1/',
    'https://localhost/',
    'https://10.0.0.1/',
    'https://169.254.169.254/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://0x7f.1/',
    'https://2130706433/',
    'http://127.0.0.1/',
  ])('rejects %s', async (url) => {
    await expect(client(false).call(url, { signal: signal() })).rejects.toMatchObject({ kind: 'refused' });
  });

  it.each(['http://8.8.8.8/', 'ftp://127.0.0.1/', 'https://a:b@127.0.0.1/', 'nothing'])(
    'rejects %s even if private addresses are allowed',
    async (url) => {
      await expect(client(true).call(url, { signal: signal() })).rejects.toMatchObject({ kind: 'refused' });
    },
  );

  it('allows plain HTTP only if all addresses of the host are private', async () => {
    const lookup = (...found: string[]) =>
      ((_host: string, _options: object, done: (error: null, all: object[]) => void) => {
        done(
          null,
          found.map((address) => ({ address, family: 4 })),
        );
      }) as unknown as Parameters<typeof checkTarget>[2];
    const rules = { allowPrivateAddress: true, remedy: '' };
    const at = (...found: string[]) => checkTarget('http://inside.example/', rules, lookup(...found));
    expect((await at('10.0.0.1', '192.168.0.1')).host).toBe('inside.example');
    await expect(at('10.0.0.1', '8.8.8.8')).rejects.toMatchObject({ kind: 'refused' });
  });

  it('limits redirects, and sends credentials to the first host only', async () => {
    const seen: IncomingMessage['headers'][] = [];
    const second = await serve((request, response) => {
      seen.push(request.headers);
      response.end('here');
    });
    const first = await serve((request, response) => {
      seen.push(request.headers);
      const location = request.url === '/a' ? '/b' : second;
      response.writeHead(302, { location }).end();
    });
    const headers = { authorization: 'Bearer t', 'x-other': 'o' };
    const answer = await client(true).call(`${first}/a`, { headers, signal: signal(), redirects: 2 });
    expect((await readBody(answer, 100)).toString()).toBe('here');
    expect(answer.url.origin).toBe(second);
    expect(seen.map((one) => [one.authorization, one['x-other']])).toEqual([
      ['Bearer t', 'o'],
      ['Bearer t', 'o'],
      [undefined, 'o'],
    ]);
    const once = client(true).call(`${first}/a`, { signal: signal(), redirects: 1 });
    await expect(once).rejects.toMatchObject({ kind: 'unexpected' });
    await expect(client(true).call(`${first}/a`, { signal: signal() })).rejects.toMatchObject({ kind: 'unexpected' });
  });

  it('rejects an answer above the limit, by Content-Length or by its bytes', async () => {
    const url = await serve((request, response) => {
      response.writeHead(200, request.url === '/head' ? { 'content-length': '2000' } : {});
      response.end('x'.repeat(2000));
    });
    for (const path of ['/head', '/bytes']) {
      const answer = await client(true).call(url + path, { signal: signal() });
      await expect(readBody(answer, 1999)).rejects.toMatchObject({ kind: 'unexpected' });
      const whole = await client(true).call(url + path, { signal: signal() });
      expect(await readBody(whole, 2000)).toHaveLength(2000);
    }
  });

  it('times out while it waits for the head or for the body', async () => {
    const url = await serve((request, response) => {
      if (request.url === '/body') response.writeHead(200).write('{');
    });
    const late = { kind: 'timeout', message: expect.stringContaining('did not answer in time') };
    await expect(client(true).call(`${url}/head`, { signal: AbortSignal.timeout(100) })).rejects.toMatchObject(late);
    const answer = await client(true).call(`${url}/body`, { signal: AbortSignal.timeout(100) });
    await expect(readJson(answer, { bytes: 100, objects: 1, values: 1 })).rejects.toMatchObject(late);
  });

  it('reports an error by its code, without request data', async () => {
    const failing = client(true).call('http://127.0.0.1:1/?token=hunter2', { signal: signal() });
    await expect(failing).rejects.toMatchObject({
      kind: 'unreachable',
      message: '127.0.0.1:1 cannot be reached: ECONNREFUSED',
    });
  });

  it('sends no host name with a private address to a proxy', async () => {
    const asked: (string | undefined)[] = [];
    const server = createServer();
    server.on('connect', (request, socket) => {
      asked.push(request.url);
      socket.end('HTTP/1.1 502 No\r\n\r\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => (server.closeAllConnections(), new Promise((resolve) => server.close(resolve))));
    const through = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(client(false, through).call('https://localhost/', { signal: signal() })).rejects.toMatchObject({
      kind: 'refused',
    });
    expect(asked).toEqual([]);
  });
});
