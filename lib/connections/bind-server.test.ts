import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer, type IncomingMessage, request, Server } from 'node:http';
import type { ListenOptions } from 'node:net';
import { networkInterfaces } from 'node:os';
import { bindServer } from './bind-server.ts';

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A server whose kernel fails each IPv6 socket with this code. */
class WithoutIpv6 extends Server {
  readonly tried: (string | undefined)[] = [];
  readonly #code: string;

  constructor(code: string) {
    super((_req, res) => res.end('here'));
    this.#code = code;
  }

  override listen(...args: unknown[]): this {
    const [options, done] = args as [ListenOptions, () => void];
    this.tried.push(options.host);
    if (options.host !== '::') return super.listen(options, done);
    process.nextTick(() => this.emit('error', Object.assign(new Error(this.#code), { code: this.#code })));
    return this;
  }
}

function ask(host: string, port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, timeout: 5000 }, (answer: IncomingMessage) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.on('error', reject).end();
  });
}

const hasIpv6 = Object.values(networkInterfaces()).some((some) => some?.some(({ address }) => address === '::1'));

describe('bindServer for ::', () => {
  it('listens on IPv4 and on IPv6', async () => {
    const server = createServer((_req, res) => res.end('here'));
    open.push(server);
    const port = await bindServer(server, { host: '::', port: 0 });
    expect(await ask('127.0.0.1', port)).toBe(200);
    if (hasIpv6) expect(await ask('::1', port)).toBe(200);
  });

  it.each(['EAFNOSUPPORT', 'EADDRNOTAVAIL'])('listens on IPv4 if the kernel has no IPv6: %s', async (code) => {
    const server = new WithoutIpv6(code);
    open.push(server);
    const port = await bindServer(server, { host: '::', port: 0 });
    expect(server.tried).toEqual(['::', '0.0.0.0']);
    expect(await ask('127.0.0.1', port)).toBe(200);
  });

  it('survives a connection that the kernel cannot hand over', async () => {
    const server = createServer((_req, res) => res.end('here'));
    open.push(server);
    const port = await bindServer(server, { host: '::', port: 0 });
    server.emit('error', new Error('accept ENOBUFS'));
    expect(await ask('127.0.0.1', port)).toBe(200);
  });

  it.each(['EADDRINUSE', 'EACCES'])(
    'rejects, and binds no other address, when the port is refused: %s',
    async (code) => {
      const server = new WithoutIpv6(code);
      await expect(bindServer(server, { host: '::', port: 0 })).rejects.toThrow(code);
      expect(server.tried).toEqual(['::']);
    },
  );
});

describe('bindServer for one address', () => {
  it('binds no other address if the machine does not have this one', async () => {
    const server = createServer();
    // RFC 5737: an address for documentation, which no machine has.
    await expect(bindServer(server, { host: '192.0.2.1', port: 0 })).rejects.toThrow('EADDRNOTAVAIL');
    expect(server.listening).toBe(false);
  });
});
