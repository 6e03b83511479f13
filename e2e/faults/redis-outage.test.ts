import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { type AuthStorage, StorageUnavailable } from '#runtime/authserver/storage/storage';
import { openRedis } from '../redis/open-redis.ts';
import { describeWithRedis } from '../redis/redis-programs.ts';
import { until } from '../gateway/until.ts';
import { type RedisServer, type RedisServerOptions, startRedis } from '../redis/start-redis.ts';

const READ_TIMEOUT_MS = 300;
const timeouts = { dial_timeout: '500ms', read_timeout: `${READ_TIMEOUT_MS}ms`, write_timeout: '300ms' };
/** With long timeouts, an immediate refusal differs from a timeout on a slow machine, too. */
const longTimeouts = { dial_timeout: '3s', read_timeout: '20s', write_timeout: '20s' };
const AT_ONCE_MS = 2_500;
/** So many sequential calls that a pause of the machine is short compared with their timeouts. */
const CALLS = 100;
const ticket = { sub: 'ann', provider: 'git' };
const lifespan = 60_000;

/** Returns the milliseconds until the call is refused as unavailable. */
async function refusedAfter(ask: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await expect(ask()).rejects.toThrow(StorageUnavailable);
  return performance.now() - begin;
}

/** Blocks this process, as a lack of CPU time does. */
function sleepInThread(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

const works = (storage: AuthStorage) => until('a storage that works', async () => (await storage.count('x', 10)) > 0);

describeWithRedis('the storage with a faulty Redis', () => {
  const opened: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of opened.splice(0).reverse()) await close();
  });
  async function run(options: RedisServerOptions = {}): Promise<RedisServer> {
    const server = await startRedis(options);
    opened.push(() => server.stop());
    return server;
  }
  async function open({ address }: RedisServer, deadlines = timeouts): Promise<AuthStorage> {
    const storage = await openRedis({ addr: address, ...deadlines });
    opened.push(() => storage.close());
    return storage;
  }
  async function start(deadlines = timeouts): Promise<{ server: RedisServer; storage: AuthStorage }> {
    const server = await run();
    return { server, storage: await open(server, deadlines) };
  }

  it('reports a hanging Redis after the read timeout, then at once, and uses it again when it answers', async () => {
    const { server, storage } = await start();
    await storage.put('ticket', 'x', ticket, { lifespan });
    server.freeze();
    const first = await refusedAfter(() => storage.get('ticket', 'x'));
    expect(first).toBeGreaterThan(READ_TIMEOUT_MS - 50);
    let later = 0;
    for (let call = 0; call < CALLS; call++) later += await refusedAfter(() => storage.take('ticket', 'x'));
    expect(later).toBeLessThan((CALLS * READ_TIMEOUT_MS) / 3);
    server.thaw();
    await works(storage);
    expect(await storage.get('ticket', 'x')).toEqual(ticket);
  });

  it('accepts a timely answer that this process read late because it was paused', async () => {
    const { storage } = await start();
    await storage.put('ticket', 'x', ticket, { lifespan });
    const asked = storage.get('ticket', 'x');
    sleepInThread(10 * READ_TIMEOUT_MS);
    expect(await asked).toEqual(ticket);
  });

  it('limits the calls that wait for a hanging Redis to ten thousand', async () => {
    const { server, storage } = await start();
    server.freeze();
    const waiting = Array.from({ length: 10_000 }, () => storage.get('ticket', 'x').catch((error: unknown) => error));
    await expect(storage.get('ticket', 'x')).rejects.toThrow('Redis is too slow');
    await Promise.all(waiting);
    server.thaw();
    await works(storage);
  });

  it('reports a lost Redis at once, and uses it again when it is back', async () => {
    const { server, storage } = await start(longTimeouts);
    await server.kill();
    await sleep(50);
    expect(await refusedAfter(() => storage.getSession('s'))).toBeLessThan(AT_ONCE_MS);
    expect(await refusedAfter(() => storage.endUser('ann'))).toBeLessThan(AT_ONCE_MS);
    await run({ port: server.port });
    await works(storage);
    await storage.endUser('ann');
  });

  it('uses a Redis that was missing at the start once it runs', async () => {
    const server = await startRedis();
    await server.stop();
    const storage = await open(server, longTimeouts);
    expect(await refusedAfter(() => storage.get('ticket', 'x'))).toBeLessThan(AT_ONCE_MS);
    await run({ port: server.port });
    await works(storage);
  });

  it('leaves a Redis that is no longer master, and searches the next one', async () => {
    const { server, storage } = await start();
    const clients = async () => String(await server.command('CLIENT', 'LIST', 'TYPE', 'normal'));
    const before = await clients();
    await server.command('REPLICAOF', '127.0.0.1', '1');
    await refusedAfter(() => storage.put('ticket', 'x', ticket, { lifespan }));
    await server.command('REPLICAOF', 'NO', 'ONE');
    await works(storage);
    const ids = (list: string) => new Set([...list.matchAll(/^id=(\d+) .*cmd=(?!client)/gm)].map(([, id]) => id));
    const [old, now] = [ids(before), ids(await clients())];
    expect([...now].filter((id) => !old.has(id))).toHaveLength(1);
  });

  it('refuses writes while Redis accepts none without a replica, and still reads', async () => {
    const { server, storage } = await start();
    await storage.put('ticket', 'x', ticket, { lifespan });
    await server.command('CONFIG', 'SET', 'min-replicas-to-write', '1');
    await refusedAfter(() => storage.take('ticket', 'x'));
    expect(await storage.get('ticket', 'x')).toEqual(ticket);
    await server.command('CONFIG', 'SET', 'min-replicas-to-write', '0');
    expect(await storage.take('ticket', 'x')).toEqual(ticket);
  });

  it('reloads scripts that Redis has lost', async () => {
    const { server, storage } = await start();
    await storage.put('ticket', 'x', ticket, { lifespan });
    await server.command('SCRIPT', 'FLUSH');
    expect(await storage.take('ticket', 'x')).toEqual(ticket);
  });

  it('keeps the arguments of a call out of its errors', async () => {
    const { server, storage } = await start();
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    const refused = await storage.put('ticket', 'secret-id', ticket, { lifespan }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: 'StorageUnavailable', cause: { message: 'answer OOM' } });
    const { cause } = refused as Error;
    expect(JSON.stringify([refused, cause, Object.entries(cause as Error)])).not.toMatch(/secret-id|ann|evalsha/);
  });
});

/** Starts a server that reports ready, and then reads nothing. */
async function startDeafServer(): Promise<{ port: number; stop: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write('$20\r\nredis_version:7.0.0\n\r\n');
      socket.pause();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

it('the storage fails after the write timeout if its peer reads nothing', async () => {
  const server = await startDeafServer();
  const times = { dial_timeout: '500ms', read_timeout: '60s', write_timeout: '200ms' };
  const storage = await openRedis({ addr: `127.0.0.1:${server.port}`, ...times });
  const request = { client_id: 'c', redirect_uri: 'x'.repeat(16 * 1024 * 1024) } as never;
  const code = { id: 'c', row: { request, user: { sub: 'ann' } as never }, lifespan };
  const waited = await refusedAfter(() => storage.finishLogin({ sub: 'ann', links: {}, code, lifespan }));
  expect(waited).toBeGreaterThan(150);
  expect(waited).toBeLessThan(20_000);
  await storage.close();
  await server.stop();
});
