import { beforeEach, describe, expect, it } from '@jest/globals';
import type { AuditEvent } from '#runtime/audit/audit';
import { OAuthError } from '../errors.ts';
import { createMemoryStorage } from '../storage/memory.ts';
import type { LinkRow, ActiveSession, SessionRow } from '../storage/rows.ts';
import { StorageUnavailable, type AuthStorage } from '../storage/storage.ts';
import {
  UpstreamRefused,
  UpstreamUnavailable,
  type UpstreamIdentity,
  type UpstreamProvider,
} from '../upstream/provider.ts';
import { LoginNeeded } from '../user-tokens.ts';
import { createRevalidate, type RevalidateSettings } from './revalidate.ts';
import { alice, RESOURCE, START } from './testdata/token-server.ts';

const HOUR = 3_600_000;
const KEY = 'session-1';

const row: SessionRow = {
  client_id: 'app',
  sub: alice.sub,
  scope: ['mcp'],
  resource: RESOURCE,
  user: alice,
  kid: 'k',
  ends_at: START + 720 * HOUR,
  asked_at: START,
  answered_at: START,
};
const link: LinkRow = {
  account: alice,
  sealed: 'k.iv.text',
  expires_at: undefined,
  linked_at: START,
  state: 'linked',
  version: 0,
};
const renamed: UpstreamIdentity = { ...alice, name: 'Alice B.', claims: { groups: ['ops'] } };

describe('createRevalidate', () => {
  let time: number;
  let storage: AuthStorage;
  let events: AuditEvent[];
  let ended: string[];
  let asked: string[];
  let identify: () => Promise<UpstreamIdentity | undefined>;
  let renewed: () => Promise<void>;
  let tokens: { refresh_token: string | undefined; expires_at?: number };

  const session = async (): Promise<ActiveSession> => (await storage.getSession(KEY))!;
  const revalidate = async (more: Partial<RevalidateSettings> = {}, remembered?: ActiveSession) => {
    const provider = {
      identify: () => {
        asked.push('identify');
        return identify();
      },
    } as unknown as UpstreamProvider;
    const full = () => ({
      access_token: 'at',
      expires_at: undefined,
      scope: undefined,
      id_token: undefined,
      ...tokens,
    });
    const run = createRevalidate({
      storage,
      known: new Map(),
      now: () => time,
      revalidateAfter: HOUR,
      primary: 'okta',
      ended: (key) => ended.push(key),
      providers: () => new Map([['okta', provider]]),
      readLink: async (sub) => {
        const found = await storage.getLink(sub, 'okta');
        if (found?.state !== 'linked') throw new LoginNeeded('okta');
        return { row: { ...found, expires_at: tokens.expires_at }, tokens: full() };
      },
      renewed: async (_sub, _provider, since) => {
        asked.push(`renewed since ${time - since} ms`);
        await renewed();
        return full();
      },
      record: (event) => events.push(event),
      log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
      ...more,
    });
    await run(KEY, remembered ?? (await session()));
  };
  const refusal = async (more?: Partial<RevalidateSettings>) => {
    const error: unknown = await revalidate(more).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof OAuthError)) throw error;
    return [error.status, error.code];
  };

  beforeEach(async () => {
    time = START;
    [events, ended, asked] = [[], [], []];
    identify = () => Promise.resolve(renamed);
    renewed = () => Promise.resolve();
    tokens = { refresh_token: 'rt' };
    storage = createMemoryStorage({ now: () => time });
    const code = { id: 'code', row: { request: {} as never, user: alice }, lifespan: HOUR };
    await storage.finishLogin({ sub: alice.sub, links: { okta: link }, code, lifespan: 720 * HOUR });
    await storage.redeemCode('code', { key: KEY, row, lifespan: 720 * HOUR });
  });

  it('does not ask the provider before the interval is over', async () => {
    time += HOUR;
    await revalidate();
    expect(asked).toEqual([]);
    time += 1;
    await revalidate();
    expect(asked).toEqual([`renewed since ${HOUR} ms`, 'identify']);
    await revalidate();
    expect(asked).toHaveLength(2);
  });

  it('stores the provider’s new facts about the user', async () => {
    time += 2 * HOUR;
    await revalidate();
    expect(await session()).toMatchObject({
      user: { sub: alice.sub, name: 'Alice B.', claims: { groups: ['ops'] } },
      asked_at: time,
      answered_at: time,
    });
  });

  it('trusts a successful renewal, even if the provider does not identify the user', async () => {
    time += 2 * HOUR;
    for (const silent of [
      () => Promise.resolve(undefined),
      () => Promise.reject(new UpstreamUnavailable('down')),
      // Its access tokens may be for another service than its own user-info.
      () => Promise.reject(new UpstreamRefused('401')),
    ]) {
      identify = silent;
      time += 2 * HOUR;
      await revalidate();
      expect(await session()).toMatchObject({ user: alice, asked_at: time, answered_at: time });
    }
  });

  describe('after another replica has asked the provider', () => {
    const changed = { ...alice, claims: { groups: ['left'] } };
    let remembered: ActiveSession;

    beforeEach(async () => {
      remembered = await session();
      time += 30 * HOUR;
      await storage.amendSession(KEY, { user: changed, asked_at: time, answered_at: time });
    });

    it('does not ask the provider again', async () => {
      await revalidate({}, remembered);
      expect(asked).toEqual([]);
      expect(await session()).toMatchObject({ user: changed, answered_at: time });
    });

    it('measures the provider’s silence from the answer that the other replica got', async () => {
      renewed = () => Promise.reject(new UpstreamUnavailable('down'));
      time += 2 * HOUR;
      await revalidate({}, remembered);
      expect(await session()).toMatchObject({ asked_at: time, answered_at: time - 2 * HOUR });
    });

    it('never restores former claims when the provider returns nothing new', async () => {
      identify = () => Promise.resolve(undefined);
      time += 2 * HOUR;
      await revalidate({}, remembered);
      expect(await session()).toMatchObject({ user: changed, answered_at: time });
    });

    it('keeps claims that another replica stores during the request', async () => {
      identify = async () => {
        await storage.amendSession(KEY, { user: { ...alice, claims: { groups: ['moved'] } }, answered_at: time });
        return undefined;
      };
      time += 2 * HOUR;
      await revalidate();
      expect((await session()).user.claims).toEqual({ groups: ['moved'] });
    });
  });

  it('asks for the user only when there is no refresh token', async () => {
    tokens = { refresh_token: undefined };
    time += 2 * HOUR;
    await revalidate();
    expect(asked).toEqual(['identify']);
    expect((await session()).user.name).toBe('Alice B.');
  });

  it.each([
    ['it refuses to renew', () => (renewed = () => Promise.reject(new LoginNeeded('okta')))],
    [
      'it refuses the only token that there is',
      () => {
        tokens = { refresh_token: undefined };
        identify = () => Promise.reject(new UpstreamRefused('401'));
      },
    ],
    ['the account is another now', () => (identify = () => Promise.resolve({ ...renamed, subject: 'bob' }))],
  ])('ends the session when %s', async (_name, refuse) => {
    refuse();
    time += 2 * HOUR;
    expect(await refusal()).toEqual([400, 'invalid_grant']);
    expect(await storage.getSession(KEY)).toBeUndefined();
    expect(ended).toEqual([KEY]);
    expect(events).toEqual([expect.objectContaining({ type: 'auth_token_revoked', outcome: 'success' })]);
  });

  it('ends nothing when the link needs a login, because the rotation rejects that', async () => {
    renewed = () => Promise.reject(new LoginNeeded('okta'));
    const row = await storage.getLink(alice.sub, 'okta');
    await storage.replaceLink(alice.sub, 'okta', row?.version ?? 0, { ...link, state: 'needs_login' });
    time += 2 * HOUR;
    await revalidate();
    expect(asked).toEqual([]);
    expect(await storage.getSession(KEY)).toBeDefined();
  });

  it('marks the link of a provider that refuses, which ends browser logins too', async () => {
    tokens = { refresh_token: undefined };
    identify = () => Promise.reject(new UpstreamRefused('401'));
    await storage.finishLogin({
      sub: alice.sub,
      links: {},
      lifespan: HOUR,
      code: { id: 'second', row: { request: {} as never, user: alice }, lifespan: HOUR },
    });
    await storage.redeemCode('second', { key: 'session-2', row, lifespan: 720 * HOUR });
    time += 2 * HOUR;
    await refusal();
    expect(await storage.getSession('session-2')).toBeDefined();
    expect(await storage.getLink(alice.sub, 'okta')).toMatchObject({ state: 'needs_login' });
  });

  it('asks again when the user has logged in while the former tokens were rejected', async () => {
    tokens = { refresh_token: undefined };
    identify = async () => {
      if (asked.length > 1) return renamed;
      const links = { okta: { ...link, sealed: 'k.iv.newer' } };
      await storage.finishLogin({ sub: alice.sub, links, code: undefined, lifespan: HOUR });
      throw new UpstreamRefused('401');
    };
    time += 2 * HOUR;
    await revalidate();
    expect(asked).toEqual(['identify', 'identify']);
    expect(await storage.getLink(alice.sub, 'okta')).toMatchObject({ state: 'linked', sealed: 'k.iv.newer' });
    expect(await session()).toMatchObject({ answered_at: time });
  });

  it('tolerates a silent provider until 24 hours after its last answer', async () => {
    renewed = () => Promise.reject(new UpstreamUnavailable('down'));
    time += 23 * HOUR;
    await revalidate();
    expect(await session()).toMatchObject({ asked_at: time, answered_at: START });
    time += HOUR;
    await revalidate();
    time += HOUR + 1;
    expect(await refusal()).toEqual([503, 'temporarily_unavailable']);
    expect(await storage.getSession(KEY)).toBeDefined();
    renewed = () => Promise.resolve();
    await revalidate();
    expect((await session()).answered_at).toBe(time);
  });

  it('does not wait for a hanging provider', async () => {
    renewed = () => new Promise(() => undefined);
    time += 2 * HOUR;
    await revalidate({ deadline: 20 });
    expect(await session()).toMatchObject({ asked_at: time, answered_at: START });
  });

  it('tolerates expired tokens without a refresh token for 24 hours, then requires a login', async () => {
    tokens = { refresh_token: undefined, expires_at: START + HOUR };
    time += 2 * HOUR;
    await revalidate();
    expect(asked).toEqual([]);
    time = START + 25 * HOUR;
    expect(await refusal()).toEqual([400, 'invalid_grant']);
  });

  it('rejects with StorageUnavailable while the storage is down', async () => {
    time += 2 * HOUR;
    await expect(revalidate({ readLink: () => Promise.reject(new StorageUnavailable('down')) })).rejects.toBeInstanceOf(
      StorageUnavailable,
    );
    expect(await session()).toMatchObject({ asked_at: START });
  });
});
