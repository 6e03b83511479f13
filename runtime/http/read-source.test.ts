import { describe, expect, it } from '@jest/globals';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bindServer } from '#lib/connections/bind-server';
import { createReadSource, type ReadSource } from './read-source.ts';

async function sourceSeen(
  read: ReadSource,
  headers: Record<string, string>,
  host = '127.0.0.1',
): Promise<string | undefined> {
  const server = createServer((req, res) => res.end(read(req) ?? ''));
  await bindServer(server, { host, port: 0 });
  try {
    const { port } = server.address() as AddressInfo;
    return await new Promise((resolve, reject) => {
      const req = request({ port, host: '127.0.0.1', headers }, (res) => {
        let text = '';
        res.on('data', (chunk: Buffer) => (text += chunk.toString()));
        res.on('end', () => resolve(text));
      });
      req.on('error', reject);
      req.end();
    });
  } finally {
    server.close();
  }
}

describe('createReadSource', () => {
  it('returns the peer regardless of headers if no proxy is trusted', async () => {
    expect(await sourceSeen(createReadSource([]), { 'x-forwarded-for': '1.2.3.4' })).toBe('127.0.0.1');
  });

  it('returns the address that a trusted proxy reports', async () => {
    const read = createReadSource(['127.0.0.0/8']);
    expect(await sourceSeen(read, { 'x-forwarded-for': '203.0.113.9' })).toBe('203.0.113.9');
  });

  it('returns the nearest hop that is no trusted proxy, as the client may forge all earlier hops', async () => {
    const read = createReadSource(['127.0.0.0/8', '10.0.0.0/8']);
    expect(await sourceSeen(read, { 'x-forwarded-for': '6.6.6.6, 203.0.113.9, 10.1.2.3' })).toBe('203.0.113.9');
  });

  it('returns the peer if the header is invalid or from an untrusted peer', async () => {
    expect(await sourceSeen(createReadSource(['10.0.0.0/8']), { 'x-forwarded-for': '203.0.113.9' })).toBe('127.0.0.1');
    expect(await sourceSeen(createReadSource(['127.0.0.0/8']), { 'x-forwarded-for': 'nobody' })).toBe('127.0.0.1');
  });

  it('returns the same address for a dual-stack and a single-stack socket', async () => {
    const forwarded = { 'x-forwarded-for': '::ffff:203.0.113.9, ::FFFF:10.1.2.3' };
    expect(await sourceSeen(createReadSource([]), {}, '::')).toBe('127.0.0.1');
    expect(await sourceSeen(createReadSource(['10.0.0.0/8']), forwarded, '::')).toBe('127.0.0.1');
    expect(await sourceSeen(createReadSource(['127.0.0.0/8', '10.0.0.0/8']), forwarded, '::')).toBe('203.0.113.9');
  });

  it.each([
    ['203.0.113.9:4711', '203.0.113.9'],
    ['[2001:db8::9]:4711', '2001:db8::9'],
    ['[2001:db8::9]', '2001:db8::9'],
  ])('removes the port that some proxies write: %s', async (hop, address) => {
    const read = createReadSource(['127.0.0.0/8']);
    expect(await sourceSeen(read, { 'x-forwarded-for': `6.6.6.6, ${hop}` })).toBe(address);
  });

  it('returns the peer if the nearest hop is invalid, as the client may forge all earlier hops', async () => {
    const read = createReadSource(['127.0.0.0/8', '10.0.0.0/8']);
    for (const hop of ['unknown', '_hidden', '', '1.2.3.4:99999999']) {
      expect(await sourceSeen(read, { 'x-forwarded-for': `6.6.6.6, ${hop}` })).toBe('127.0.0.1');
      expect(await sourceSeen(read, { 'x-forwarded-for': `6.6.6.6, ${hop}, 10.1.2.3` })).toBe('127.0.0.1');
    }
  });
});
