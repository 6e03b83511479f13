import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openRedis } from '../../../e2e/redis/open-redis.ts';
import { describeWithRedis } from '../../../e2e/redis/redis-programs.ts';
import { type RedisServer, startRedis } from '../../../e2e/redis/start-redis.ts';
import { linkOf, logIn, LONG, loginOf, type Opened } from './contract/opened.contract.ts';
import { storageContract } from './contract/storage.contract.ts';
import { StorageUnavailable } from './storage.ts';

const PREFIX = 'vmcp:team/tools:';
const PASSWORD = 'the password';
const files = { user: 'vmcp', password: PASSWORD };
const acl_user_config = { username_file: 'user', password_file: 'password' };

/** Returns the rule of the user in the documentation. */
function documentedUser(): string {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/operate/storage-schema.md'), 'utf8');
  const rule = /^user vmcp [^`]*?(?=\n```)/m.exec(page)?.[0].replaceAll(/\s*\\?\n\s*/g, ' ') ?? '';
  return rule.replace('>PASSWORD', `">${PASSWORD}"`);
}

describeWithRedis('a real Redis', () => {
  let server: RedisServer | undefined;
  beforeAll(async () => {
    server = await startRedis({ lines: [documentedUser()] });
  });
  afterAll(() => server?.stop());

  let prefixes = 0;
  async function openTwice(key_prefix = `${PREFIX}${(prefixes += 1)}:`): Promise<Opened> {
    const config = { addr: server!.address, key_prefix, acl_user_config };
    const [one, two] = await Promise.all([openRedis(config, files), openRedis(config, files)]);
    return {
      one,
      two,
      now: () => Date.now(),
      pass: (ms) => sleep(ms),
      close: async () => {
        await one.close();
        await two.close();
      },
    };
  }

  // Uses the documented user, so that each operation tests its rule.
  storageContract('Redis', () => openTwice());

  describe('keys', () => {
    const keys = async () => (await server!.command('KEYS', '*')) as string[];

    it('begin with the prefix and expire', async () => {
      const opened = await openTwice();
      await logIn(opened, 's1');
      await opened.one.finishLogin({ sub: 'ann', links: { git: linkOf('a') }, code: undefined, lifespan: LONG });
      await opened.one.put('login', 't', loginOf('t', Date.now()), { lifespan: LONG, capacity: 5 });
      await opened.one.lease('l', LONG);
      await opened.one.count('b', LONG);
      await opened.one.endSession('none');
      await opened.close();
      const all = await keys();
      expect(all.length).toBeGreaterThan(20);
      expect(all.filter((key) => !key.startsWith(PREFIX))).toEqual([]);
      const kinds = new Set(all.map((key) => key.slice(PREFIX.length).split(':')[1]));
      for (const kind of [
        'session',
        'sessions',
        'user',
        'links',
        'linked',
        'code',
        'login',
        'logins',
        'lease',
        'count',
      ])
        expect(kinds).toContain(kind);
      const script = `local endless = {}
        for _, key in ipairs(redis.call('KEYS', '*')) do
          if redis.call('PTTL', key) == -1 then endless[#endless + 1] = key end
        end
        return endless`;
      expect(await server!.command('EVAL', script, '0')).toEqual([]);
    });

    it('occur in the documentation', async () => {
      const page = readFileSync(join(import.meta.dirname, '../../../docs/operate/storage-schema.md'), 'utf8');
      for (const key of await keys()) {
        const [, kind = ''] = key.slice(PREFIX.length).split(':');
        expect(page).toMatch(new RegExp(`^\\| \`${kind}(:\`|\`)`, 'm'));
      }
    });

    it('reject the documented user under another prefix', async () => {
      const { one, close } = await openTwice('vmcp:team/other:');
      const refused = await one.get('client', 'c').catch((error: unknown) => error);
      expect(refused).toMatchObject({ name: 'StorageUnavailable', cause: { message: 'answer NOPERM' } });
      await expect(one.count('b', LONG)).rejects.toThrow(StorageUnavailable);
      await close();
    });

    it.each([
      ['session:s', ['HSET', 'session:s', 'client_id', '"client-1"', 'sub', '"ann"', 'gen', '0']],
      ['session:s', ['HSET', 'session:s', 'client_id', 'no JSON']],
      ['session:s', ['SET', 'session:s', '{}']],
    ])('reject a session with foreign content: %s by %j', async (_, [word = '', key, ...values]) => {
      const opened = await openTwice();
      const prefix = `${PREFIX}${prefixes}:`;
      await server!.command(word, `${prefix}${key}`, ...values);
      await expect(opened.one.getSession('s')).rejects.toThrow(StorageUnavailable);
      await opened.close();
    });
  });
});
