import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RequestError } from '#runtime/errors';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { hashId } from '../ids.ts';
import { createSecretRing } from '#runtime/keys/create-secret-ring';
import type { AuthStorage } from '../storage/storage.ts';
import { UpstreamRefused, UpstreamUnavailable, type UpstreamTokens } from '../upstream/provider.ts';
import { LoginNeeded, type UserToken, type UserTokens } from '../user-tokens.ts';
import { caller, createSetup, HOUR, renewedTokens, START, type Setup } from './testdata/setup.ts';

const MINUTE = 60_000;
const alice = caller('alice');

let setup: Setup;
beforeEach(async () => {
  setup = createSetup();
  await setup.link('alice');
});
afterEach(() => setup.close());

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
    const tokens = setup.replica();
    const first = await tokens.get(alice, 'github');
    expect(first).toEqual({ accessToken: 'access-0', idToken: 'id-0', expiresAt: START + HOUR });
    setup.clock += 4_999;
    expect(tokens.get(alice, 'github')).toBe(first);
    expect(setup.reads()).toBe(1);
    setup.clock += 1;
    const again = tokens.get(alice, 'github');
    expect(again).toBeInstanceOf(Promise);
    expect(await again).toBe(first);
    expect(setup.reads()).toBe(2);
  });

  it('belongs to its user only, and not to another issuer’s user of the same name', async () => {
    await setup.link('bob', { access_token: 'of-bob' });
    const tokens = setup.replica();
    expect(await accessToken(tokens)).toBe('access-0');
    expect(await accessToken(tokens, caller('bob'))).toBe('of-bob');
    expect(await failure(() => tokens.get(caller('carol'), 'github'))).toBeInstanceOf(LoginNeeded);
    for (const nobody of [caller('alice', 'https://other.example'), { ...alice, token: undefined }, ANONYMOUS]) {
      const error = await failure(() => setup.replica().get(nobody, 'github'));
      expect(error).toMatchObject({ answer: { code: 'no_user' } });
      expect(error).not.toBeInstanceOf(LoginNeeded);
    }
    expect((await failure(() => tokens.get(caller('alice', 'https://other.example'), 'github'))).message).toMatch(
      /sign/,
    );
  });

  it('fails in the row of another user or provider', async () => {
    const row = (await setup.row('alice'))!;
    for (const [sub, provider] of [
      ['mallory', 'github'],
      ['alice', 'google'],
    ] as const) {
      await setup.link(sub, {}, provider);
      await setup.storage.replaceLink(sub, provider, (await setup.row(sub, provider))!.version, row);
      expect(await failure(() => setup.replica().get(caller(sub), provider))).toBeInstanceOf(LoginNeeded);
    }
    expect(setup.logged.join()).toMatch(/SealBroken/);
    expect(setup.logged.join()).not.toMatch(/access-|refresh-/);
  });

  it('gets a new seal when it is read under an older secret', async () => {
    const before = (await setup.row('alice'))!;
    setup.secrets.update([{ file: 'two', content: randomBytes(32) }, ...setup.secretFiles]);
    setup.clock += 120_000;
    expect(await accessToken(setup.replica())).toBe('access-0');
    const after = (await setup.row('alice'))!;
    expect(after.sealed.split('.')[0]).toBe(setup.secrets.kid);
    expect(before.sealed.split('.')[0]).not.toBe(setup.secrets.kid);
    expect({ ...after, sealed: '', version: 0 }).toEqual({ ...before, sealed: '', version: 0 });
    expect(after.version).toBe(before.version + 1);
  });

  it('causes 503 while its secret may arrive, and needs a login when the secret is lost', async () => {
    setup.secrets.update([{ file: 'other', content: randomBytes(32) }]);
    expect(await failure(() => setup.replica().get(alice, 'github'))).toMatchObject({ answer: { status: 503 } });
    setup.clock += 120_001;
    expect(await failure(() => setup.replica().get(alice, 'github'))).toBeInstanceOf(LoginNeeded);
    expect((await setup.row('alice'))!.state).toBe('linked');
  });

  it('needs a login at once under an unknown secret when no other replica exists', async () => {
    const storage = Object.create(setup.storage, { kind: { value: 'sqlite' } }) as AuthStorage;
    Object.assign(setup, { storage });
    setup.secrets.update([{ file: 'other', content: randomBytes(32) }]);
    expect(await failure(() => setup.replica().get(alice, 'github'))).toBeInstanceOf(LoginNeeded);
  });

  it('needs a login at once when each start loses the secrets', async () => {
    Object.assign(setup, {
      secrets: createSecretRing([], { now: () => setup.clock, random: randomBytes }),
    });
    expect(await failure(() => setup.replica().get(alice, 'github'))).toBeInstanceOf(LoginNeeded);
  });

  it('causes 503, and no missing login, for two seconds after the storage failed', async () => {
    const tokens = setup.replica();
    setup.failing = () => true;
    const error = await failure(() => tokens.get(alice, 'github'));
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({ answer: { status: 503, code: 'storage_unavailable' } });
    setup.failing = () => false;
    expect(await failure(() => tokens.get(alice, 'github'))).toBe(error);
    setup.clock += 2_000;
    expect(await accessToken(tokens)).toBe('access-0');
  });
});

describe('token renewal', () => {
  it('happens in the last minute while the present token is valid, and is stored', async () => {
    const tokens = setup.replica();
    setup.clock = START + 59 * MINUTE - 1;
    expect(await accessToken(tokens)).toBe('access-0');
    await settled();
    expect(setup.refreshes).toBe(0);
    setup.clock += 1;
    expect(tokens.get(alice, 'github')).toMatchObject({ accessToken: 'access-0' });
    await settled();
    expect(tokens.get(alice, 'github')).toMatchObject({ accessToken: 'access-1', idToken: 'id-1' });
    expect(setup.refreshes).toBe(1);
    expect(await accessToken(setup.replica())).toBe('access-1');
    expect(await setup.row('alice')).toMatchObject({ expires_at: START + 59 * MINUTE + HOUR, linked_at: START });
    expect(setup.events).toMatchObject([
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
      ...renewedTokens(tokens, setup.clock),
      expires_at: setup.clock + 50_000,
    });
    setup.refresh = (tokens) => Promise.resolve(short(tokens));
    const tokens = setup.replica();
    setup.clock = START + HOUR;
    expect(await accessToken(tokens)).toBe('access-1');
    setup.clock += 39_999;
    expect(await accessToken(setup.replica())).toBe('access-1');
    await settled();
    expect(setup.refreshes).toBe(1);
    setup.clock += 1;
    expect(await accessToken(setup.replica())).toBe('access-1');
    await settled();
    expect(setup.refreshes).toBe(2);
  });

  it('happens once for sixty calls at expiry on two replicas', async () => {
    const replicas = [setup.replica(), setup.replica()];
    for (const tokens of replicas) expect(await accessToken(tokens)).toBe('access-0');
    setup.clock = START + HOUR;
    const { promise: held, resolve: release } = Promise.withResolvers<undefined>();
    setup.refresh = async (tokens) => {
      await held;
      return renewedTokens(tokens, setup.clock);
    };
    const calls = Array.from({ length: 60 }, (_, index) => accessToken(replicas[index % 2]!));
    await settled();
    release(undefined);
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['access-1']));
    expect(setup.refreshes).toBe(1);
    expect(setup.events).toHaveLength(1);
  });

  it('continues after a replica died with the lease', async () => {
    await setup.storage.lease('renew|alice|github', 15_000);
    setup.clock = START + HOUR;
    expect(await accessToken(setup.replica())).toBe('access-1');
    expect(setup.clock).toBeGreaterThanOrEqual(START + HOUR);
    expect(setup.refreshes).toBe(1);
  });

  it('fails only the current call when another holder keeps the lease', async () => {
    setup.clock = START + HOUR;
    const lease = setup.storage.lease.bind(setup.storage);
    Object.assign(setup.storage, { lease: () => Promise.resolve(undefined) });
    const error = await failure(() => setup.replica().get(alice, 'github'));
    expect(error).toMatchObject({ answer: { status: 200, code: 'upstream_unavailable' } });
    Object.assign(setup.storage, { lease });
  });

  it('marks only the link of a provider that refuses', async () => {
    await setup.link('alice', { access_token: 'of-google' }, 'google');
    const told: string[] = [];
    const tokens = setup.replica();
    tokens.onChange((sub) => told.push(sub));
    expect(await accessToken(tokens)).toBe('access-0');
    expect(await accessToken(tokens, alice, 'google')).toBe('of-google');
    setup.clock = START + HOUR;
    setup.refresh = () => Promise.reject(new UpstreamRefused('invalid_grant'));
    const error = await failure(() => tokens.get(alice, 'github'));
    expect(error).toBeInstanceOf(LoginNeeded);
    expect(error).toMatchObject({ provider: 'github' });
    expect(await setup.row('alice')).toMatchObject({ state: 'needs_login' });
    expect(await setup.row('alice', 'google')).toMatchObject({ state: 'linked' });
    expect(told).toEqual(['alice']);
    expect(setup.events).toMatchObject([{ type: 'upstream_token_failed', outcome: 'failure' }]);
    expect(await failure(() => tokens.get(alice, 'github'))).toBeInstanceOf(LoginNeeded);
    expect(setup.refreshes).toBe(1);
  });

  it('keeps a valid token in use after a failure', async () => {
    const tokens = setup.replica();
    setup.refresh = () => Promise.reject(new UpstreamUnavailable('down'));
    setup.clock = START + HOUR - 30_000;
    expect(await accessToken(tokens)).toBe('access-0');
    await settled();
    expect(await accessToken(tokens)).toBe('access-0');
    expect(setup.refreshes).toBe(1);
    setup.clock += 5_000;
    expect(await accessToken(tokens)).toBe('access-0');
    await settled();
    expect(setup.refreshes).toBe(2);
    setup.refresh = (old) => Promise.resolve(renewedTokens(old, setup.clock));
    setup.clock += 19_999;
    expect(await accessToken(tokens)).toBe('access-0');
    await settled();
    expect(await accessToken(tokens)).toBe('access-1');
  });

  it('fails the call after the token’s end, and does not ask the provider for two seconds', async () => {
    const tokens = setup.replica();
    setup.refresh = () => Promise.reject(new UpstreamUnavailable('down'));
    setup.clock = START + HOUR;
    const calls = await Promise.all([1, 2, 3].map(() => failure(() => tokens.get(alice, 'github'))));
    for (const error of calls) expect(error).toMatchObject({ answer: { status: 200, code: 'upstream_unavailable' } });
    await failure(() => tokens.get(alice, 'github'));
    expect(setup.refreshes).toBe(1);
    expect(await setup.row('alice')).toMatchObject({ state: 'linked' });
    setup.refresh = (old) => Promise.resolve(renewedTokens(old, setup.clock));
    setup.clock += 2_000;
    expect(await accessToken(tokens)).toBe('access-1');
  });

  it('keeps the new tokens when the storage fails', async () => {
    const tokens = setup.replica();
    setup.clock = START + HOUR;
    setup.failing = (operation) => operation === 'replaceLink';
    expect(await failure(() => tokens.get(alice, 'github'))).toMatchObject({ answer: { status: 503 } });
    expect(await setup.row('alice')).toMatchObject({ expires_at: START + HOUR, state: 'linked' });
    setup.failing = () => false;
    setup.refresh = () => Promise.reject(new UpstreamRefused('the refresh token is used up'));
    setup.clock += 2_000;
    expect(await accessToken(tokens)).toBe('access-1');
    expect(setup.refreshes).toBe(1);
  });

  it('waits some seconds for a failover of the storage', async () => {
    setup.clock = START + HOUR;
    let failures = 3;
    setup.failing = (operation) => operation === 'replaceLink' && failures-- > 0;
    expect(await accessToken(setup.replica())).toBe('access-1');
    expect(setup.refreshes).toBe(1);
  });

  it('replaces a mark that another caller has set too late', async () => {
    setup.clock = START + HOUR;
    setup.refresh = async (tokens) => {
      const row = (await setup.row('alice'))!;
      await setup.storage.replaceLink('alice', 'github', row.version, { ...row, state: 'needs_login' });
      return renewedTokens(tokens, setup.clock);
    };
    expect(await accessToken(setup.replica())).toBe('access-1');
    expect(await setup.row('alice')).toMatchObject({ state: 'linked' });
  });

  it('does not restore a link that its user has removed in the meantime', async () => {
    setup.clock = START + HOUR;
    setup.refresh = async (tokens) => {
      await setup.storage.unlink('alice', 'github');
      return renewedTokens(tokens, setup.clock);
    };
    expect(await failure(() => setup.replica().get(alice, 'github'))).toBeInstanceOf(LoginNeeded);
    expect(await setup.row('alice')).toBeUndefined();
  });

  it('does not replace the tokens of a link that its user has made again in the meantime', async () => {
    setup.clock = START + HOUR;
    setup.refresh = async (tokens) => {
      await setup.storage.unlink('alice', 'github');
      await setup.link('alice', { access_token: 'of-the-new-link' });
      return renewedTokens(tokens, setup.clock);
    };
    expect(await accessToken(setup.replica())).toBe('of-the-new-link');
    setup.refresh = async () => {
      await setup.link('alice', { access_token: 'newer-still' });
      throw new UpstreamRefused('invalid_grant');
    };
    setup.clock += HOUR;
    expect(await accessToken(setup.replica())).toBe('newer-still');
    expect(await setup.row('alice')).toMatchObject({ state: 'linked' });
  });

  it('ignores a refusal when another caller has stored newer tokens', async () => {
    setup.clock = START + HOUR;
    const other = setup.replica();
    setup.refresh = async (tokens) => {
      setup.refresh = () => Promise.resolve(renewedTokens(tokens, setup.clock));
      await setup.storage.lease('x', 1);
      // Both replicas ask the provider, because a failover lost the lease.
      setup.clock += 15_001;
      expect(await accessToken(other)).toBe('access-1');
      throw new UpstreamRefused('used up');
    };
    expect(await accessToken(setup.replica())).toBe('access-1');
    expect(await setup.row('alice')).toMatchObject({ state: 'linked' });
  });
});

describe('rejected upstream token', () => {
  it('gets one renewal for all calls that were rejected with it', async () => {
    const tokens = setup.replica();
    await accessToken(tokens);
    expect(Array.from({ length: 5 }, () => tokens.refused(alice, 'github', 'access-0'))).not.toContain(false);
    const all = await Promise.all(Array.from({ length: 5 }, () => accessToken(tokens)));
    expect(new Set(all)).toEqual(new Set(['access-1']));
    expect(tokens.refused(alice, 'github', 'access-0')).toBe(true);
    expect(await accessToken(tokens)).toBe('access-1');
    expect(setup.refreshes).toBe(1);
  });

  it('needs a login when the new token is rejected too', async () => {
    const told: string[] = [];
    const tokens = setup.replica();
    tokens.onChange((sub) => told.push(sub));
    await accessToken(tokens);
    tokens.refused(alice, 'github', 'access-0');
    expect(await accessToken(tokens)).toBe('access-1');
    expect(tokens.refused(alice, 'github', 'access-1')).toBe(false);
    expect(tokens.refused(alice, 'github', 'access-1')).toBe(false);
    expect(await failure(() => tokens.get(alice, 'github'))).toBeInstanceOf(LoginNeeded);
    await settled();
    expect(await setup.row('alice')).toMatchObject({ state: 'needs_login' });
    expect(told).toEqual(['alice']);
    await setup.link('alice', { access_token: 'after-login' });
    tokens.changed('alice');
    expect(await accessToken(tokens)).toBe('after-login');
  });

  it('gets another renewal when the new token has been valid for a while', async () => {
    const tokens = setup.replica();
    await accessToken(tokens);
    tokens.refused(alice, 'github', 'access-0');
    await accessToken(tokens);
    setup.clock += MINUTE;
    expect(tokens.refused(alice, 'github', 'access-1')).toBe(true);
    expect(await accessToken(tokens)).toBe('access-2');
  });

  it('needs a login only after a rejection when it has no refresh token', async () => {
    await setup.link('alice', { refresh_token: undefined, expires_at: undefined });
    const tokens = setup.replica();
    setup.clock += 1_000 * HOUR;
    await setup.link('alice', { refresh_token: undefined, expires_at: undefined });
    const token: UserToken = await tokens.get(alice, 'github');
    expect(token.expiresAt).toBeUndefined();
    expect(tokens.refused(alice, 'github', 'access-0')).toBe(true);
    expect(await failure(() => tokens.get(alice, 'github'))).toBeInstanceOf(LoginNeeded);
    expect(await setup.row('alice')).toMatchObject({ state: 'needs_login' });
    expect(setup.refreshes).toBe(0);
  });

  it('gets the successor that another replica has stored', async () => {
    const [one, two] = [setup.replica(), setup.replica()];
    await accessToken(one);
    await accessToken(two);
    one.refused(alice, 'github', 'access-0');
    expect(await accessToken(one)).toBe('access-1');
    expect(two.refused(alice, 'github', 'access-0')).toBe(true);
    expect(await accessToken(two)).toBe('access-1');
    expect(setup.refreshes).toBe(1);
  });
});

describe('link URL', () => {
  it('identifies user and provider on the server only, and works once within ten minutes', async () => {
    const tokens = setup.replica();
    const url = await tokens.linkUrl(alice, 'google');
    expect(url).toMatch(/^https:\/\/gateway\.example\/connections\/link\?ticket=[\w-]{43}$/);
    expect(await setup.storage.get('ticket', ticketOf(url))).toEqual({ sub: 'alice', provider: 'google' });
    expect(await setup.storage.take('ticket', ticketOf(url))).toEqual({ sub: 'alice', provider: 'google' });
    expect(await setup.storage.take('ticket', ticketOf(url))).toBeUndefined();
    tokens.changed('alice');
    const second = await tokens.linkUrl(alice, 'google');
    expect(second).not.toBe(url);
    setup.clock += 600_000;
    expect(await setup.storage.get('ticket', ticketOf(second))).toBeUndefined();
  });

  it('stays the same for calls that fail together', async () => {
    const tokens = setup.replica();
    const urls = await Promise.all(Array.from({ length: 10 }, () => tokens.linkUrl(alice, 'google')));
    expect(new Set(urls).size).toBe(1);
  });

  it('causes 503 while the storage is down, and works afterwards', async () => {
    const tokens = setup.replica();
    setup.failing = () => true;
    expect(await failure(() => tokens.linkUrl(alice, 'google'))).toMatchObject({ answer: { status: 503 } });
    setup.failing = () => false;
    expect(await tokens.linkUrl(alice, 'google')).toMatch(/ticket=/);
  });
});

describe('change of links', () => {
  it('notifies listeners and takes effect at once in the process that made it', async () => {
    const tokens = setup.replica();
    const told: string[] = [];
    tokens.onChange((sub) => told.push(sub));
    expect(await failure(() => tokens.get(alice, 'google'))).toBeInstanceOf(LoginNeeded);
    await setup.link('alice', { access_token: 'of-google' }, 'google');
    expect(await failure(() => tokens.get(alice, 'google'))).toBeInstanceOf(LoginNeeded);
    tokens.changed('alice');
    expect(told).toEqual(['alice']);
    expect(await accessToken(tokens, alice, 'google')).toBe('of-google');
  });

  it('notifies listeners when a read finds the change of another process', async () => {
    const tokens = setup.replica();
    const told: string[] = [];
    tokens.onChange((sub) => told.push(sub));
    await failure(() => tokens.get(alice, 'google'));
    await setup.link('alice', { access_token: 'of-google' }, 'google');
    setup.clock += 1_000;
    expect(await accessToken(tokens, alice, 'google')).toBe('of-google');
    expect(told).toEqual(['alice']);
    await setup.storage.unlink('alice', 'google');
    setup.clock += 5_000;
    expect(await failure(() => tokens.get(alice, 'google'))).toBeInstanceOf(LoginNeeded);
    expect(told).toEqual(['alice', 'alice']);
  });
});

describe('renewed', () => {
  it('renews once for concurrent calls, and returns tokens issued since', async () => {
    const [one, two] = [setup.replica(), setup.replica()];
    setup.clock += 10 * MINUTE;
    const since = setup.clock - 1;
    const all = await Promise.all([one, two, one].map((tokens) => tokens.renewed('alice', 'github', since)));
    expect(all.map(({ access_token: token }) => token)).toEqual(['access-1', 'access-1', 'access-1']);
    expect(setup.refreshes).toBe(1);
    expect(await accessToken(one)).toBe('access-1');
  });

  it('requires a login when the provider refuses, and marks the link', async () => {
    setup.clock += 10 * MINUTE;
    setup.refresh = () => Promise.reject(new UpstreamRefused('invalid_grant'));
    expect(await failure(() => setup.replica().renewed('alice', 'github', START))).toBeInstanceOf(LoginNeeded);
    expect(await setup.row('alice')).toMatchObject({ state: 'needs_login' });
    setup.refresh = () => Promise.reject(new UpstreamUnavailable('down'));
    await setup.link('bob');
    setup.clock += 1;
    expect(await failure(() => setup.replica().renewed('bob', 'github', setup.clock))).toBeInstanceOf(
      UpstreamUnavailable,
    );
  });
});

describe('renewIdToken', () => {
  const isNot = (old: string) => (idToken: string | undefined) => idToken !== old;

  it('renews once for concurrent calls on two replicas, also while the access token is valid', async () => {
    const calls = [setup.replica(), setup.replica()].flatMap((replica) =>
      [1, 2].map(() => replica.renewIdToken(alice, 'github', isNot('id-0'))),
    );
    for (const token of await Promise.all(calls))
      expect(token).toMatchObject({ accessToken: 'access-1', idToken: 'id-1' });
    expect(setup.refreshes).toBe(1);
  });

  it('returns stored tokens that are current, and tokens that no renewal can replace', async () => {
    const tokens = setup.replica();
    expect(await tokens.renewIdToken(alice, 'github', isNot('another'))).toMatchObject({ idToken: 'id-0' });
    await setup.link('alice', { refresh_token: undefined });
    expect(await tokens.renewIdToken(alice, 'github', isNot('id-0'))).toMatchObject({ idToken: 'id-0' });
    expect(await setup.row('alice')).toMatchObject({ state: 'linked' });
    expect(setup.refreshes).toBe(0);
  });

  it('requires a login when the provider refuses, and reports a provider that does not answer', async () => {
    const tokens = setup.replica();
    setup.refresh = () => Promise.reject(new UpstreamUnavailable('down'));
    const unavailable = await failure(() => tokens.renewIdToken(alice, 'github', isNot('id-0')));
    expect(unavailable).toMatchObject({ answer: { status: 200, code: 'upstream_unavailable' } });
    setup.refresh = () => Promise.reject(new UpstreamRefused('invalid_grant'));
    await expect(tokens.renewIdToken(alice, 'github', isNot('id-0'))).rejects.toThrow(LoginNeeded);
    expect(await setup.row('alice')).toMatchObject({ state: 'needs_login' });
  });
});
