import { describe, expect, it } from '@jest/globals';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { RequestError } from '#runtime/errors';
import type { Authenticator, Identity } from '#runtime/incoming/identity';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { endAtExpiry } from './end-at-expiry.ts';

type Judge = Pick<Authenticator, 'authenticate' | 'isAlive'>;

const lettingIn = (identity: Identity = ANONYMOUS): Judge => ({ authenticate: () => identity });

const refusing = (status: number): Judge => ({
  authenticate: () => Promise.reject(new RequestError({ status, code: 'refused', text: 'refused' })),
});

interface How {
  /** Authenticator at each check; absent: the one that admitted the caller. */
  readonly activeConfig?: Judge;
  readonly isAlive?: Authenticator['isAlive'];
  readonly tsid?: string;
  /** Bytes that the client does not read. An ended stream closes only after the client has read them. */
  readonly unread?: number;
}

/** Returns whether a stream opened by a token of `lifetime` milliseconds has ended after `wait` milliseconds. */
async function endsWithin(
  lifetime: number,
  wait: number,
  { activeConfig, isAlive, tsid, unread }: How = {},
): Promise<boolean> {
  const admittedBy: Judge = { ...lettingIn(), isAlive };
  const server = createServer((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.flushHeaders();
    if (unread !== undefined) res.write(Buffer.alloc(unread));
    const identity = { ...ANONYMOUS, expiresAt: Date.now() + lifetime, tsid };
    endAtExpiry(res, identity, {
      now: Date.now,
      admittedBy,
      authenticator: () => activeConfig ?? admittedBy,
      lookEvery: 10,
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await new Promise((resolve, reject) => {
      const request = get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }, (res) => {
        const timer = setTimeout(() => {
          resolve(false);
          request.destroy();
        }, wait);
        if (unread === undefined) res.resume();
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

describe('endAtExpiry', () => {
  it('ends the stream when the token that opened it expires', async () => {
    expect(await endsWithin(50, 5_000)).toBe(true);
  });

  it('keeps the stream while the token is valid, and for a caller without a token', async () => {
    expect(await endsWithin(60_000, 200)).toBe(false);
    expect(await endsWithin(Infinity, 200)).toBe(false);
  });

  it('ends the stream when the login behind its token has ended', async () => {
    let looks = 0;
    const isAlive = () => Promise.resolve(++looks < 3);
    expect(await endsWithin(60_000, 5_000, { isAlive, tsid: 'login' })).toBe(true);
    expect(looks).toBe(3);
  });

  it('keeps the stream while the state of the login is unknown', async () => {
    expect(await endsWithin(60_000, 200, { isAlive: () => Promise.reject(new Error('down')), tsid: 'login' })).toBe(
      false,
    );
  });

  it('ends the stream when another configuration no longer admits its caller', async () => {
    expect(await endsWithin(60_000, 5_000, { activeConfig: refusing(401) })).toBe(true);
    expect(await endsWithin(60_000, 5_000, { activeConfig: refusing(403) })).toBe(true);
  });

  it('ends the stream when the caller has another identity or other groups', async () => {
    expect(await endsWithin(60_000, 5_000, { activeConfig: lettingIn({ ...ANONYMOUS, key: 'other' }) })).toBe(true);
    expect(await endsWithin(60_000, 5_000, { activeConfig: lettingIn({ ...ANONYMOUS, groups: ['staff'] }) })).toBe(
      true,
    );
  });

  it('keeps the stream when the new authenticator admits the same caller, and asks only once', async () => {
    const asked: (readonly string[])[] = [];
    const authenticate = (rawHeaders: readonly string[]) => {
      asked.push(rawHeaders);
      return Promise.resolve(ANONYMOUS);
    };
    expect(await endsWithin(60_000, 200, { activeConfig: { authenticate } })).toBe(false);
    expect(asked).toEqual([expect.arrayContaining(['Host'])]);
  });

  it('keeps the stream while the authenticator is unavailable, and ends it afterwards', async () => {
    let times = 0;
    const authenticate = () => {
      times += 1;
      return times < 3 ? refusing(503).authenticate([]) : refusing(401).authenticate([]);
    };
    expect(await endsWithin(60_000, 5_000, { activeConfig: { authenticate } })).toBe(true);
    expect(times).toBe(3);
  });

  it('runs one check at a time, however slow a check is', async () => {
    let [now, most, looks] = [0, 0, 0];
    const isAlive = async () => {
      now += 1;
      most = Math.max(most, now);
      await sleep(100);
      now -= 1;
      return ++looks < 3;
    };
    expect(await endsWithin(60_000, 20_000, { isAlive, tsid: 'login' })).toBe(true);
    expect([most, looks]).toEqual([1, 3]);
  });

  it('does not check an ended stream whose client has unread bytes', async () => {
    let looks = 0;
    const isAlive = () => {
      looks += 1;
      return Promise.resolve(false);
    };
    expect(await endsWithin(60_000, 1000, { isAlive, tsid: 'login', unread: 64 * 1024 * 1024 })).toBe(false);
    expect(looks).toBe(1);
  });
});
