import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe } from '@jest/globals';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { missingRedis } from '../redis/redis-programs.ts';
import { startRedis, type RedisServer } from '../redis/start-redis.ts';

export type StorageDocument = NonNullable<NonNullable<RunConfigDocument['embedded_auth_server_config']>['storage']>;
export type StorageKind = StorageDocument['type'];

/** A storage that outlives gateways. */
export interface StorageFixture {
  readonly kind: StorageKind;
  /** Returns a new, separate storage. `deadline`: its longest silence, e.g. `2s`. */
  fresh(deadline?: string): StorageDocument;
  /** Returns the content as text; undefined: nothing outside the process. */
  dump(): Promise<string | undefined>;
  /** Swaps the links of two users at a provider. */
  swapLinks(storage: StorageDocument, subs: readonly [string, string], provider: string): Promise<void>;
  /** Refuses writes until `comeBack`. */
  goDown(storage: StorageDocument): void;
  comeBack(): void;
  close(): Promise<void>;
}

const OPEN: Readonly<Record<StorageKind, () => Promise<StorageFixture>>> = {
  memory: () =>
    Promise.resolve({
      kind: 'memory',
      fresh: () => ({ type: 'memory' }),
      dump: () => Promise.resolve(undefined),
      swapLinks: () => Promise.reject(new Error('the memory of a process is its own')),
      goDown: () => undefined,
      comeBack: () => undefined,
      close: () => Promise.resolve(),
    }),
  sqlite: openSqlite,
  redis: openRedis,
};

/** Declares the same tests for each storage; for Redis only if it is installed. */
export function describeOnEachStorage(
  name: string,
  tests: (place: () => StorageFixture) => void,
  kinds: readonly StorageKind[] = ['memory', 'sqlite', 'redis'],
): void {
  for (const kind of kinds) {
    const missing = kind === 'redis' ? missingRedis() : undefined;
    const block = () => {
      let place: StorageFixture | undefined;
      beforeAll(async () => {
        place = await OPEN[kind]();
      });
      afterAll(() => place?.close());
      tests(() => {
        if (place === undefined) throw new Error('the storage is not there yet');
        return place;
      });
    };
    if (missing === undefined) describe(`${name} (${kind})`, block);
    else describe.skip(`${name} (${kind}, ${missing})`, block);
  }
}

async function openSqlite(): Promise<StorageFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-sqlite-'));
  let serial = 0;
  let blocking: DatabaseSync | undefined;
  return {
    kind: 'sqlite',
    fresh: () => ({ type: 'sqlite', file: join(folder, `logins-${++serial}.sqlite`) }),
    async dump() {
      const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'latin1')));
      return files.join('\n');
    },
    swapLinks(storage, subs, provider) {
      const database = new DatabaseSync(fileOf(storage));
      const read = database.prepare('SELECT row FROM links WHERE sub = ? AND provider = ?');
      const write = database.prepare('UPDATE links SET row = ? WHERE sub = ? AND provider = ?');
      const rows = subs.map((sub) => String(read.get(sub, provider)?.row));
      for (const [index, sub] of subs.entries()) write.run(rows[1 - index] ?? '', sub, provider);
      database.close();
      return Promise.resolve();
    },
    goDown(storage) {
      // Simulates another process that writes and does not finish.
      blocking = new DatabaseSync(fileOf(storage));
      blocking.exec('BEGIN IMMEDIATE');
    },
    comeBack: () => blocking?.close(),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

async function openRedis(): Promise<StorageFixture> {
  const server = await startRedis();
  return {
    kind: 'redis',
    fresh: (deadline) => ({
      type: 'redis',
      redis: {
        addr: server.address,
        key_prefix: `vmcp:${randomBytes(4).toString('hex')}:`,
        ...(deadline !== undefined && { dial_timeout: deadline, read_timeout: deadline, write_timeout: deadline }),
      },
    }),
    async dump() {
      const keys = (await server.command('KEYS', '*')) as string[];
      const values = await Promise.all(keys.map((key) => readKey(server, key)));
      return keys.map((key, index) => `${key} ${JSON.stringify(values[index])}`).join('\n');
    },
    async swapLinks(storage, subs, provider) {
      const prefix = storage.type === 'redis' ? storage.redis.key_prefix : '';
      const keys = subs.map((sub) => `${prefix}links:${sub}`);
      const rows = await Promise.all(keys.map((key) => server.command('HGET', key, provider)));
      for (const [index, key] of keys.entries()) await server.command('HSET', key, provider, String(rows[1 - index]));
    },
    goDown: () => server.freeze(),
    comeBack: () => server.thaw(),
    close: () => server.stop(),
  };
}

const fileOf = (storage: StorageDocument) => (storage.type === 'sqlite' ? storage.file : '');

async function readKey(server: RedisServer, key: string): Promise<unknown> {
  const read: Readonly<Record<string, string[]>> = {
    string: ['GET', key],
    hash: ['HGETALL', key],
    set: ['SMEMBERS', key],
    zset: ['ZRANGE', key, '0', '-1', 'WITHSCORES'],
    list: ['LRANGE', key, '0', '-1'],
  };
  const type = String(await server.command('TYPE', key));
  return server.command(...(read[type] ?? ['DUMP', key]));
}
