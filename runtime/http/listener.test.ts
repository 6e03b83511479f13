import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get, type RequestOptions } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { expect, it } from '@jest/globals';
import { createListener } from './listener.ts';

const pem = (name: string) => readFileSync(new URL(`../incoming/testdata/${name}`, import.meta.url), 'utf8');

it('closes a connection without a TLS handshake after five seconds, and serves others meanwhile', async () => {
  const tls = { cert: pem('loopback-cert.pem'), key: pem('loopback-key.pem') };
  const server = createListener({ tls, route: () => undefined, failed: () => undefined });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const silent = connect(port, '127.0.0.1').on('error', () => undefined);
  try {
    await once(silent, 'connect');
    const since = performance.now();
    const closed = once(silent, 'close');
    const options: RequestOptions = { host: '127.0.0.1', port, ca: tls.cert, agent: false };
    const status = await new Promise((resolve, reject) => {
      get(options, (answer) => resolve(answer.resume().statusCode)).on('error', reject);
    });
    expect(status).toBe(404);
    await closed;
    expect(performance.now() - since).toBeGreaterThan(4_000);
  } finally {
    silent.destroy();
    server.closeAllConnections();
    server.close();
  }
}, 30_000);
