import { readFileSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { getCACertificates, rootCertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createDispatcher, type DispatcherOptions } from './dispatcher.ts';
import { postForm } from './post-form.ts';

const testdata = new URL('../incoming/testdata/', import.meta.url);
const CERTIFICATE = readFileSync(new URL('loopback-cert.pem', testdata), 'utf8');
const KEY = readFileSync(new URL('loopback-key.pem', testdata), 'utf8');

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  open.push({ close: () => (server.closeAllConnections(), new Promise((resolve) => server.close(resolve))) });
  return (server.address() as AddressInfo).port;
}

async function post(url: string, options: Partial<DispatcherOptions>): Promise<string> {
  const dispatcher = createDispatcher({ connectTimeout: 2_000, connections: 2, ...options });
  open.push({ close: () => dispatcher.destroy() });
  const form = new URLSearchParams({ a: 'b' });
  return (await postForm(url, form, { dispatcher, headers: {}, deadline: 3_000, maxBytes: 1000 })).body;
}

describe('createDispatcher', () => {
  it('trusts the authorities of a CA bundle, and without one only those of the system', async () => {
    const server = createTlsServer({ cert: CERTIFICATE, key: KEY }, (_req, res) => res.end('secure'));
    const url = `https://127.0.0.1:${await listen(server)}/`;
    expect(await post(url, { caBundle: CERTIFICATE })).toBe('secure');
    await expect(post(url, {})).rejects.toThrow(/self-signed|unable to verify/);
  });

  it('trusts a CA bundle besides the default authorities, or only the bundle', async () => {
    const server = createTlsServer({ cert: CERTIFICATE, key: KEY }, (_req, res) => res.end('secure'));
    const url = `https://127.0.0.1:${await listen(server)}/`;
    const usual = getCACertificates('default');
    open.push({ close: () => setDefaultCACertificates(usual) });
    setDefaultCACertificates([...usual, CERTIFICATE]);
    const [other] = rootCertificates;
    expect(await post(url, { caBundle: other })).toBe('secure');
    await expect(post(url, { onlyCaBundle: other })).rejects.toThrow(/self-signed|unable to verify/);
    expect(await post(url, { onlyCaBundle: CERTIFICATE })).toBe('secure');
  });

  it('uses the proxy of the environment, except for its exceptions', async () => {
    const asked: string[] = [];
    const target = await listen(createServer((_req, res) => res.end('direct')));
    const proxy = createServer((req, res) => {
      asked.push(req.url ?? '');
      httpRequest({ host: '127.0.0.1', port: target, method: req.method }, (answer) => answer.pipe(res)).end();
    });
    proxy.on('connect', (req, socket) => {
      asked.push(req.url ?? '');
      const through = connect(target, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      through.pipe(socket).pipe(through);
    });
    const settings = { httpProxy: `http://127.0.0.1:${await listen(proxy)}`, noProxy: '127.0.0.1' };
    expect(await post('http://sts.invalid/token', { proxy: settings })).toBe('direct');
    expect(asked.join()).toContain('sts.invalid');
    expect(await post(`http://127.0.0.1:${target}/`, { proxy: settings })).toBe('direct');
    expect(asked).toHaveLength(1);
  });
});
