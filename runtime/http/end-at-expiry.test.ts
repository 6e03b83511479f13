import { describe, expect, it } from '@jest/globals';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Authenticator } from '#runtime/incoming/identity';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { endAtExpiry } from './end-at-expiry.ts';

/** Whether a stream opened by a token that lives for `lifetime` milliseconds has ended after `wait` milliseconds. */
async function endsWithin(
  lifetime: number,
  wait: number,
  isAlive?: Authenticator['isAlive'],
  tsid?: string,
): Promise<boolean> {
  const server = createServer((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.flushHeaders();
    const identity = { ...ANONYMOUS, expiresAt: Date.now() + lifetime, tsid };
    endAtExpiry(res, identity, { now: Date.now, authenticator: () => ({ isAlive }), lookEvery: 10 });
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

  it('ends when the login behind its token has ended', async () => {
    let looks = 0;
    const isAlive = () => Promise.resolve(++looks < 3);
    expect(await endsWithin(60_000, 5_000, isAlive, 'login')).toBe(true);
    expect(looks).toBe(3);
  });

  it('goes on while nobody can tell whether the login is there', async () => {
    expect(await endsWithin(60_000, 200, () => Promise.reject(new Error('down')), 'login')).toBe(false);
  });
});
