import { describe, expect, it } from '@jest/globals';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { endAtExpiry } from './end-at-expiry.ts';

/** Whether a stream opened by a token that lives for `lifetime` milliseconds has ended after `wait` milliseconds. */
async function endsWithin(lifetime: number, wait: number): Promise<boolean> {
  const server = createServer((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.flushHeaders();
    endAtExpiry(res, { ...ANONYMOUS, expiresAt: Date.now() + lifetime }, Date.now);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await new Promise((resolve, reject) => {
      const request = get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }, (res) => {
        const timer = setTimeout(() => {
          resolve(false);
          request.destroy();
        }, wait);
        res.resume();
        res.on('end', () => {
          clearTimeout(timer);
          resolve(true);
        });
        res.on('error', () => undefined);
      });
      request.on('error', reject);
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('a stream', () => {
  it('ends when the token that opened it expires', async () => {
    expect(await endsWithin(50, 5_000)).toBe(true);
  });

  it('goes on while the token is valid, and for a caller without one', async () => {
    expect(await endsWithin(60_000, 200)).toBe(false);
    expect(await endsWithin(Infinity, 200)).toBe(false);
  });
});
