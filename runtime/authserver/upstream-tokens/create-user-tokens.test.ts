import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RequestError } from '#runtime/errors';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { hashId } from '../ids.ts';
import { createSecretRing } from '#runtime/keys/create-secret-ring';
import type { AuthStorage } from '../storage/storage.ts';
import { UpstreamRefused, UpstreamUnavailable, type UpstreamTokens } from '../upstream/provider.ts';
import { LoginNeeded, type UserToken, type UserTokens } from '../user-tokens.ts';
import { caller, createWorld, HOUR, renewedTokens, START, type World } from './testdata/world.ts';

const MINUTE = 60_000;
const alice = caller('alice');

let world: World;
beforeEach(async () => {
  world = createWorld();
  await world.link('alice');
});
afterEach(() => world.close());

async function failure(result: () => unknown): Promise<Error> {
  try {
    await result();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('no failure');
}

async function accessToken(tokens: UserTokens, identity = alice, provider = 'github'): Promise<string> {
  return (await tokens.get(identity, provider)).accessToken;
}

/** Waits for background work. */
const settled = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

const ticketOf = (url: string) => hashId(new URL(url).searchParams.get('ticket') ?? '');

describe('stored upstream token', () => {
  it('stays cached for five seconds, as the same object', async () => {
    const tokens = world.replica();
    const first = await tokens.get(alice, 'github');
    expect(first).toEqual({ accessToken: 'access-0', idToken: 'id-0', expiresAt: START + HOUR });
    world.clock += 4_999;
    expect(tokens.get(alice, 'github')).toBe(first);
    expect(world.reads()).toBe(1);
    world.clock += 1;
    const again = tokens.get(alice, 'github');
    expect(again).toBeInstanceOf(Promise);
    expect(await again).toBe(first);
    expect(world.reads()).toBe(2);
  });

  it('belongs to its user only, and not to another issuer’s user of the same name', async () => {
    await world.link('bob', { access_token: 'of-bob' });
    const tokens = world.replica();
    expect(await accessToken(tokens)).toBe('access-0');
    expect(await accessToken(tokens, caller('bob'))).toBe('of-bob');
    expect(await failure(() => tokens.get(caller('carol'), 'github'))).toBeInstanceOf(LoginNeeded);
    for (const nobody of [caller('alice', 'https://other.example'), { ...alice, token: undefined }, ANONYMOUS]) {
      const error = await failure(() => world.replica().get(nobody, 'github'));
      expect(error).toMatchObject({ answer: { code: 'no_user' } });
      expect(error).not.toBeInstanceOf(LoginNeeded);
    }
    expect((await failure(() => tokens.get(caller('alice', 'https://other.example'), 'github'))).message).toMatch(
      /sign/,
    );
  });

  it('fails in the row of another user or provider', async () => {
    const row = (await world.row('alice'))!;
    for (const [sub, provider] of [
      ['mallory', 'github'],
      ['alice', 'google'],
    ] as const) {
      await world.link(sub, {}, provider);
      await world.storage.replaceLink(sub, provider, (await world.row(sub, provider))!.version, row);
      expect(await failure(() => world.replica().get(caller(sub), provider))).toBeInstanceOf(LoginNeeded);
    }
    expect(world.logged.join()).toMatch(/SealBroken/);
    expect(world.logged.join()).not.toMatch(/access-|refresh-/);
  });

  it('gets a new seal when it is read under an older secret', async () => {
    const before = (await world.row('alice'))!;
    world.secrets.update([{ file: 'two', content: randomBytes(32) }, ...world.secretFiles]);
    world.clock += 120_000;
    expect(await accessToken(world.replica())).toBe('access-0');
    const after = (await world.row('alice'))!;
    expect(after.sealed.split('.')[0]).toBe(world.secrets.kid);
    expect(before.sealed.split('.')[0]).not.toBe(world.secrets.kid);
    expect({ ...after, sealed: '', version: 0 }).toEqual({ ...before, sealed: '', version: 0 });
    expect(after.version).toBe(before.version + 1);
  });

  it('causes 503 while its secret may arrive, and needs a login when the secret is lost', async () => {
    world.secrets.update([{ file: 'other', content: randomBytes(32) }]);
    expect(await failure(() => world.replica().get(alice, 'github'))).toMatchObject({ answer: { status: 503 } });
    world.clock += 120_001;
    expect(await failure(() => world.replica().get(alice, 'github'))).toBeInstanceOf(LoginNeeded);
    expect((await world.row('alice'))!.state).toBe('linked');
  });

  it('needs a login at once under an unknown secret when no other replica exists', async () => {
    const storage = Object.create(world.storage, { kind: { value: 'sqlite' } }) as AuthStorage;
    Object.assign(world, { storage });
    world.secrets.update([{ file: 'other', content: randomBytes(32) }]);
    expect(await failure(() => world.replica().get(alice, 'github'))).toBeInstanceOf(LoginNeeded);
  });

  it('needs a login at once when each start loses the secrets', async () => {
    Object.assign(world, {
      secrets: createSecretRing([], { now: () => world.clock, random: randomBytes }),
    });
    expect(await failure(() => world.replica().get(alice, 'github'))).toBeInstanceOf(LoginNeeded);
  });

  it('causes 503, and no missing login, for two seconds after the storage failed', async () => {
    const tokens = world.replica();
    world.failing = () => true;
    const error = await failure(() => tokens.get(alice, 'github'));
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({ answer: { status: 503, code: 'storage_unavailable' } });
    world.failing = () => false;
    expect(await failure(() => tokens.get(alice, 'github'))).toBe(error);
    world.clock += 2_000;
    expect(await accessToken(tokens)).toBe('access-0');
  });
});

describe('token renewal', () => {
  it('happens in the last minute while the present token is valid, and is stored', async () => {
    const tokens = world.replica();
    world.clock = START + 59 * MINUTE - 1;
    expect(await accessToken(tokens)).toBe('access-0');
    await settled();
    expect(world.refreshes).toBe(0);
    world.clock += 1;
    expect(tokens.get(alice, 'github')).toMatchObject({ accessToken: 'access-0' });
    await settled();
    expect(tokens.get(alice, 'github')).toMatchObject({ accessToken: 'access-1', idToken: 'id-1' });
    expect(world.refreshes).toBe(1);
    expect(await accessToken(world.replica())).toBe('access-1');
    expect(await world.row('alice')).toMatchObject({ expires_at: START + 59 * MINUTE + HOUR, linked_at: START });
    expect(world.events).toMatchObject([
      {
        type: 'upstream_token_refreshed',
        outcome: 'success',
        subjects: { user_id: 'alice' },
        target: { name: 'github' },
      },
    ]);
  });

  it('happens in the last fifth of a short life, even for a renewed token', async () => {
    const short = (tokens: UpstreamTokens) => ({
      ...renewedTokens(tokens, world.clock),
      expires_at: world.clock + 50_000,
    });
    world.refresh = (tokens) => Promise.resolve(short(tokens));
    const tokens = world.replica();
    world.clock = START + HOUR;
    expect(await accessToken(tokens)).toBe('access-1');
    world.clock += 39_999;
    expect(await accessToken(world.replica())).toBe('access-1');
    await settled();
    expect(world.refreshes).toBe(1);
    world.clock += 1;
    expect(await accessToken(world.replica())).toBe('access-1');
    await settled();
    expect(world.refreshes).toBe(2);
  });

  it('happens once for sixty calls at expiry on two replicas', async () => {
    const replicas = [world.replica(), world.replica()];
    for (const tokens of replicas) expect(await accessToken(tokens)).toBe('access-0');
    world.clock = START + HOUR;
    const { promise: held, resolve: release } = Promise.withResolvers<undefined>();
    world.refresh = async (tokens) => {
      await held;
      return renewedTokens(tokens, world.clock);
    };
    const calls = Array.from({ length: 60 }, (_, index) => accessToken(replicas[index % 2]!));
    await settled();
    release(undefined);
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['access-1']));
    expect(world.refreshes).toBe(1);
    expect(world.events).toHaveLength(1);
  });

  it('continues after a replica died with the lease', async () => {
    await world.storage.lease('renew|alice|github', 15_000);
    world.clock = START + HOUR;
    expect(await accessToken(world.replica())).toBe('access-1');
    expect(world.clock).toBeGreaterThanOrEqual(START + HOUR);
    expect(world.refreshes).toBe(1);
  });

  it('fails only the current call when another holder keeps the lease', async () => {
    world.clock = START + HOUR;
    const lease = world.storage.lease.bind(world.storage);
    Object.assign(world.storage, { lease: () => Promise.resolve(undefined) });
    const error = await failure(() => world.replica().get(alice, 'github'));
    expect(error).toMatchObject({ answer: { status: 200, code: 'upstream_unavailable' } });
    Object.assign(world.storage, { lease });
  });

  it('marks only the link of a provider that refuses', async () => {
    await world.link('alice', { access_token: 'of-google' }, 'google');
    const told: string[] = [];
    const tokens = world.replica();
    tokens.onChange((sub) => told.push(sub));
    expect(await accessToken(tokens)).toBe('access-0');
    expect(await accessToken(tokens, alice, 'google')).toBe('of-google');
    world.clock = START + HOUR;
    world.refresh = () => Promise.reject(new UpstreamRefused('invalid_grant'));
    const error = await failure(() => tokens.get(alice, 'github'));
    expect(error).toBeInstanceOf(LoginNeeded);
    expect(error).toMatchObject({ provider: 'github' });
    expect(await world.row('alice')).toMatchObject({ state: 'needs_login' });
    expect(await world.row('alice', 'google')).toMatchObject({ state: 'linked' });
    expect(told).toEqual(['alice']);
    expect(world.events).toMatchObject([{ type: 'upstream_token_failed', outcome: 'failure' }]);
    expect(await failure(() => tokens.get(alice, 'github'))).toBeInstanceOf(LoginNeeded);
    expect(world.refreshes).toBe(1);
  });

  it('keeps a valid token in use after a failure', async () => {
    const tokens = world.replica();
    world.refresh = () => Promise.reject(new UpstreamUnavailable('down'));
    world.clock = START + HOUR - 30_000;
    expect(await accessToken(tokens)).toBe('access-0');
    await settled();
    expect(await accessToken(tokens)).toBe('access-0');
    expect(world.refreshes).toBe(1);
    world.clock += 5_000;
    expect(await accessToken(tokens)).toBe('access-0');
    await settled();
    expect(world.refreshes).toBe(2);
    world.refresh = (old) => Promise.resolve(renewedTokens(old, world.clock));
    world.clock += 19_999;
    expect(await accessToken(tokens)).toBe('access-0');
    await settled();
    expect(await accessToken(tokens)).toBe('access-1');
  });

  it('fails the call after the token’s end, and does not ask the provider for two seconds', async () => {
    const tokens = world.replica();
    world.refresh = () => Promise.reject(new UpstreamUnavailable('down'));
    world.clock = START + HOUR;
    const calls = await Promise.all([1, 2, 3].map(() => failure(() => tokens.get(alice, 'github'))));
    for (const error of calls) expect(error).toMatchObject({ answer: { status: 200, code: 'upstream_unavailable' } });
    await failure(() => tokens.get(alice, 'github'));
    expect(world.refreshes).toBe(1);
    expect(await world.row('alice')).toMatchObject({ state: 'linked' });
    world.refresh = (old) => Promise.resolve(renewedTokens(old, world.clock));
    world.clock += 2_000;
    expect(await accessToken(tokens)).toBe('access-1');
  });

  it('keeps the new tokens when the storage fails', async () => {
    const tokens = world.replica();
    world.clock = START + HOUR;
    world.failing = (operation) => operation === 'replaceLink';
    expect(await failure(() => tokens.get(alice, 'github'))).toMatchObject({ answer: { status: 503 } });
    expect(await world.row('alice')).toMatchObject({ expires_at: START + HOUR, state: 'linked' });
    world.failing = () => false;
    world.refresh = () => Promise.reject(new UpstreamRefused('the refresh token is used up'));
    world.clock += 2_000;
    expect(await accessToken(tokens)).toBe('access-1');
    expect(world.refreshes).toBe(1);
  });

  it('waits some seconds for a failover of the storage', async () => {
    world.clock = START + HOUR;
    let failures = 3;
    world.failing = (operation) => operation === 'replaceLink' && failures-- > 0;
    expect(await accessToken(world.replica())).toBe('access-1');
    expect(world.refreshes).toBe(1);
  });

  it('replaces a mark that another caller has set too late', async () => {
    world.clock = START + HOUR;
    world.refresh = async (tokens) => {
      const row = (await world.row('alice'))!;
      await world.storage.replaceLink('alice', 'github', row.version, { ...row, state: 'needs_login' });
      return renewedTokens(tokens, world.clock);
    };
    expect(await accessToken(world.replica())).toBe('access-1');
    expect(await world.row('alice')).toMatchObject({ state: 'linked' });
  });

  it('does not restore a link that its user has removed in the meantime', async () => {
    world.clock = START + HOUR;
    world.refresh = async (tokens) => {
      await world.storage.unlink('alice', 'github');
      return renewedTokens(tokens, world.clock);
    };
    expect(await failure(() => world.replica().get(alice, 'github'))).toBeInstanceOf(LoginNeeded);
    expect(await world.row('alice')).toBeUndefined();
  });

  it('does not replace the tokens of a link that its user has made again in the meantime', async () => {
    world.clock = START + HOUR;
    world.refresh = async (tokens) => {
      await world.storage.unlink('alice', 'github');
      await world.link('alice', { access_token: 'of-the-new-link' });
      return renewedTokens(tokens, world.clock);
    };
    expect(await accessToken(world.replica())).toBe('of-the-new-link');
    world.refresh = async () => {
      await world.link('alice', { access_token: 'newer-still' });
      throw new UpstreamRefused('invalid_grant');
    };
    world.clock += HOUR;
    expect(await accessToken(world.replica())).toBe('newer-still');
    expect(await world.row('alice')).toMatchObject({ state: 'linked' });
  });

  it('ignores a refusal when another caller has stored newer tokens', async () => {
    world.clock = START + HOUR;
    const other = world.replica();
    world.refresh = async (tokens) => {
      world.refresh = () => Promise.resolve(renewedTokens(tokens, world.clock));
      await world.storage.lease('x', 1);
      // Both replicas ask the provider, because a failover lost the lease.
      world.clock += 15_001;
      expect(await accessToken(other)).toBe('access-1');
      throw new UpstreamRefused('used up');
    };
    expect(await accessToken(world.replica())).toBe('access-1');
    expect(await world.row('alice')).toMatchObject({ state: 'linked' });
  });
});

describe('rejected upstream token', () => {
  it('gets one renewal for all calls that were rejected with it', async () => {
    const tokens = world.replica();
    await accessToken(tokens);
    expect(Array.from({ length: 5 }, () => tokens.refused(alice, 'github', 'access-0'))).not.toContain(false);
    const all = await Promise.all(Array.from({ length: 5 }, () => accessToken(tokens)));
    expect(new Set(all)).toEqual(new Set(['access-1']));
    expect(tokens.refused(alice, 'github', 'access-0')).toBe(true);
    expect(await accessToken(tokens)).toBe('access-1');
    expect(world.refreshes).toBe(1);
  });

  it('needs a login when the new token is rejected too', async () => {
    const told: string[] = [];
    const tokens = world.replica();
    tokens.onChange((sub) => told.push(sub));
    await accessToken(tokens);
    tokens.refused(alice, 'github', 'access-0');
    expect(await accessToken(tokens)).toBe('access-1');
    expect(tokens.refused(alice, 'github', 'access-1')).toBe(false);
    expect(tokens.refused(alice, 'github', 'access-1')).toBe(false);
    expect(await failure(() => tokens.get(alice, 'github'))).toBeInstanceOf(LoginNeeded);
    await settled();
    expect(await world.row('alice')).toMatchObject({ state: 'needs_login' });
    expect(told).toEqual(['alice']);
    await world.link('alice', { access_token: 'after-login' });
    tokens.changed('alice');
    expect(await accessToken(tokens)).toBe('after-login');
  });

  it('gets another renewal when the new token has been valid for a while', async () => {
    const tokens = world.replica();
    await accessToken(tokens);
    tokens.refused(alice, 'github', 'access-0');
    await accessToken(tokens);
    world.clock += MINUTE;
    expect(tokens.refused(alice, 'github', 'access-1')).toBe(true);
    expect(await accessToken(tokens)).toBe('access-2');
  });

  it('needs a login only after a rejection when it has no refresh token', async () => {
    await world.link('alice', { refresh_token: undefined, expires_at: undefined });
    const tokens = world.replica();
    world.clock += 1_000 * HOUR;
    await world.link('alice', { refresh_token: undefined, expires_at: undefined });
    const token: UserToken = await tokens.get(alice, 'github');
    expect(token.expiresAt).toBeUndefined();
    expect(tokens.refused(alice, 'github', 'access-0')).toBe(true);
    expect(await failure(() => tokens.get(alice, 'github'))).toBeInstanceOf(LoginNeeded);
    expect(await world.row('alice')).toMatchObject({ state: 'needs_login' });
    expect(world.refreshes).toBe(0);
  });

  it('gets the successor that another replica has stored', async () => {
    const [one, two] = [world.replica(), world.replica()];
    await accessToken(one);
    await accessToken(two);
    one.refused(alice, 'github', 'access-0');
    expect(await accessToken(one)).toBe('access-1');
    expect(two.refused(alice, 'github', 'access-0')).toBe(true);
    expect(await accessToken(two)).toBe('access-1');
    expect(world.refreshes).toBe(1);
  });
});

describe('link URL', () => {
  it('identifies user and provider on the server only, and works once within ten minutes', async () => {
    const tokens = world.replica();
    const url = await tokens.linkUrl(alice, 'google');
    expect(url).toMatch(/^https:\/\/gateway\.example\/connections\/link\?ticket=[\w-]{43}$/);
    expect(await world.storage.get('ticket', ticketOf(url))).toEqual({ sub: 'alice', provider: 'google' });
    expect(await world.storage.take('ticket', ticketOf(url))).toEqual({ sub: 'alice', provider: 'google' });
    expect(await world.storage.take('ticket', ticketOf(url))).toBeUndefined();
    tokens.changed('alice');
    const second = await tokens.linkUrl(alice, 'google');
    expect(second).not.toBe(url);
    world.clock += 600_000;
    expect(await world.storage.get('ticket', ticketOf(second))).toBeUndefined();
  });

  it('stays the same for calls that fail together', async () => {
    const tokens = world.replica();
    const urls = await Promise.all(Array.from({ length: 10 }, () => tokens.linkUrl(alice, 'google')));
    expect(new Set(urls).size).toBe(1);
  });

  it('causes 503 while the storage is down, and works afterwards', async () => {
    const tokens = world.replica();
    world.failing = () => true;
    expect(await failure(() => tokens.linkUrl(alice, 'google'))).toMatchObject({ answer: { status: 503 } });
    world.failing = () => false;
    expect(await tokens.linkUrl(alice, 'google')).toMatch(/ticket=/);
  });
});

describe('change of links', () => {
  it('notifies listeners and takes effect at once in the process that made it', async () => {
    const tokens = world.replica();
    const told: string[] = [];
    tokens.onChange((sub) => told.push(sub));
    expect(await failure(() => tokens.get(alice, 'google'))).toBeInstanceOf(LoginNeeded);
    await world.link('alice', { access_token: 'of-google' }, 'google');
    expect(await failure(() => tokens.get(alice, 'google'))).toBeInstanceOf(LoginNeeded);
    tokens.changed('alice');
    expect(told).toEqual(['alice']);
    expect(await accessToken(tokens, alice, 'google')).toBe('of-google');
  });

  it('notifies listeners when a read finds the change of another process', async () => {
    const tokens = world.replica();
    const told: string[] = [];
    tokens.onChange((sub) => told.push(sub));
    await failure(() => tokens.get(alice, 'google'));
    await world.link('alice', { access_token: 'of-google' }, 'google');
    world.clock += 1_000;
    expect(await accessToken(tokens, alice, 'google')).toBe('of-google');
    expect(told).toEqual(['alice']);
    await world.storage.unlink('alice', 'google');
    world.clock += 5_000;
    expect(await failure(() => tokens.get(alice, 'google'))).toBeInstanceOf(LoginNeeded);
    expect(told).toEqual(['alice', 'alice']);
  });
});

describe('renewed', () => {
  it('renews once for concurrent calls, and returns tokens issued since', async () => {
    const [one, two] = [world.replica(), world.replica()];
    world.clock += 10 * MINUTE;
    const since = world.clock - 1;
    const all = await Promise.all([one, two, one].map((tokens) => tokens.renewed('alice', 'github', since)));
    expect(all.map(({ access_token: token }) => token)).toEqual(['access-1', 'access-1', 'access-1']);
    expect(world.refreshes).toBe(1);
    expect(await accessToken(one)).toBe('access-1');
  });

  it('requires a login when the provider refuses, and marks the link', async () => {
    world.clock += 10 * MINUTE;
    world.refresh = () => Promise.reject(new UpstreamRefused('invalid_grant'));
    expect(await failure(() => world.replica().renewed('alice', 'github', START))).toBeInstanceOf(LoginNeeded);
    expect(await world.row('alice')).toMatchObject({ state: 'needs_login' });
    world.refresh = () => Promise.reject(new UpstreamUnavailable('down'));
    await world.link('bob');
    world.clock += 1;
    expect(await failure(() => world.replica().renewed('bob', 'github', world.clock))).toBeInstanceOf(
      UpstreamUnavailable,
    );
  });
});
