import { afterEach, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { promisify } from 'node:util';
import { bindServer } from '#lib/connections/bind-server';
import { makeCertificates } from './make-certificates.ts';

const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

async function bound(server: Server): Promise<number> {
  open.push(server);
  return bindServer(server, { host: '127.0.0.1', port: 0 });
}

/** Starts a server with a valid TLS handshake that breaks the protocol and resets the connection at the first command. */
async function startBroken(): Promise<number> {
  const certificates = makeCertificates();
  const breakOf = new Map<number | undefined, () => void>();
  const secured = createTlsServer(
    { key: readFileSync(certificates.keyFile), cert: readFileSync(certificates.certFile) },
    (socket) => {
      const { remotePort } = socket;
      socket.on('error', () => undefined).once('data', () => breakOf.get(remotePort)?.());
    },
  );
  certificates.remove();
  secured.on('tlsClientError', () => undefined);
  const inner = await bound(secured);
  const pass = (socket: Socket) => {
    const onward = connect(inner, '127.0.0.1', () => breakOf.set(onward.localPort, breaking(socket, onward)));
  };
  return bound(createServer(pass));
}

/** Forwards bytes until the returned function breaks the connection. */
function breaking(socket: Socket, inner: Socket): () => void {
  for (const [one, other] of [
    [socket, inner],
    [inner, socket],
  ] as const) {
    one.on('error', () => undefined).on('close', () => other.destroy());
    one.pipe(other);
  }
  return () => {
    inner.unpipe(socket);
    // An undecryptable record, and bytes that are no record.
    socket.write(Buffer.concat([Buffer.from([23, 3, 3, 0, 40]), Buffer.alloc(40), Buffer.from('-ERR no TLS\r\n')]));
    setTimeout(() => socket.resetAndDestroy(), 3);
  };
}

/** A process that connects for a while and prints the reason for its end. */
const CLIENT = `
const { connectRedis } = await import('#runtime/storage/redis/connect');
const { openKeys } = await import('#cli/storage/redis-keys');
const config = JSON.parse(process.argv[1]);
const made = Array.from({ length: 30 }, () => connectRedis(config, () => ''));
for (let i = 0; i < 5; i += 1) {
  const asked = Array.from({ length: 20 }, () => openKeys({ config, readSecret: () => '' }).then((keys) => keys.close()));
  await Promise.allSettled(asked);
}
for (const one of made) one.close();
console.log('lives');
`;

it.each([
  ['Redis', (address: string) => ({ addr: address })],
  ['Sentinel', (address: string) => ({ sentinel_config: { master_name: 'tools', sentinel_addrs: [address], db: 0 } })],
])(
  'a process outlives a %s whose TLS connection breaks and resets',
  async (_who, at) => {
    const tls = { insecure_skip_verify: true };
    const times = { dial_timeout: 2_000, read_timeout: 300, write_timeout: 300 };
    const config = {
      type: 'redis',
      db: 0,
      tls,
      sentinel_tls: tls,
      ...times,
      ...at(`127.0.0.1:${await startBroken()}`),
    };
    const args = ['--input-type=module', '--eval', CLIENT, '--', JSON.stringify(config)];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
    expect(stdout.trim()).toBe('lives');
  },
  70_000,
);
