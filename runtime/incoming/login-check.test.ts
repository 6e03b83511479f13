import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { JWTPayload } from 'jose';
import { RequestError } from '#runtime/errors';
import { createSessionCheck, type SwitchableSessionCheck } from '#runtime/authserver/session-check';
import { createMemoryStorage } from '#runtime/authserver/storage/memory';
import type { SessionRow } from '#runtime/authserver/storage/rows';
import { StorageUnavailable, type AuthStorage } from '#runtime/authserver/storage/storage';
import { RESOURCE, START, startEndpoint, type Endpoint } from './testdata/endpoint.ts';
import { makeKey, sign, type SigningKey } from './testdata/fake-issuer.ts';

const ISSUER = 'https://mcp.example.com';
const HOUR = 3_600_000;

const session: SessionRow = {
  client_id: 'app',
  sub: 'alice',
  scope: ['mcp'],
  resource: RESOURCE,
  kid: 'k',
  ends_at: START + 720 * HOUR,
  asked_at: START,
  answered_at: START,
  user: {
    ...{
      issuer: 'https://idp.example',
      subject: 'a',
      sub: 'alice',
      name: 'Alice',
      email: undefined,
      email_verified: true,
    },
    claims: { groups: ['dev', 'ops'], department: 'r&d', name: 'forged', level: 3, teams: ['dev', null, 'ops'] },
  },
};
const claims = (more: JWTPayload = {}): JWTPayload => ({
  iss: ISSUER,
  aud: RESOURCE,
  sub: 'alice',
  client_id: 'app',
  tsid: 'session-1',
  name: 'Alice',
  iat: START / 1000,
  exp: (START + HOUR) / 1000,
  scope: 'mcp',
  ...more,
});

describe('tokens of the embedded authorization server', () => {
  let key: SigningKey;
  let storage: AuthStorage;
  let looks: number;
  let down: boolean;
  let check: SwitchableSessionCheck;
  let endpoint: Endpoint;
  let lag = false;

  const open = async (more: Record<string, unknown> = {}) => {
    looks = 0;
    down = false;
    const clock = { time: START };
    storage = createMemoryStorage({ now: () => clock.time });
    await storage.finishLogin({
      sub: 'alice',
      links: {},
      lifespan: 720 * HOUR,
      code: { id: 'code', row: { request: {} as never, user: session.user }, lifespan: HOUR },
    });
    await storage.redeemCode('code', { key: 'session-1', row: session, lifespan: 168 * HOUR });
    const watched = new Proxy(storage, {
      get(target, name) {
        if (name !== 'getSession') return Reflect.get(target, name, target) as unknown;
        return (tsid: string) => {
          looks++;
          return down ? Promise.reject(new StorageUnavailable('down')) : target.getSession(tsid);
        };
      },
    });
    check = createSessionCheck(watched, () => endpoint.clock.time);
    endpoint = await startEndpoint(
      { issuer: ISSUER, embedded: true, ...more },
      {
        embeddedKeys: () => ({ keys: [key.jwk] }),
        embeddedSessions: { claimsOf: (token, oldest) => check.claimsOf(token, oldest) },
        embeddedKeysMayCome: () => lag,
      },
    );
  };

  beforeAll(async () => {
    key = await makeKey('k1');
  });
  afterEach(() => endpoint.close());

  const token = (more: JWTPayload = {}, by = key) => sign(claims(more), by, { typ: 'at+jwt' });

  it('have the claims of the login, where claims of the token take precedence', async () => {
    await open();
    const { status, identity } = await endpoint.call(await token());
    expect(status).toBe(200);
    expect(identity).toMatchObject({ subject: 'alice', clientId: 'app', tsid: 'session-1', groups: ['dev', 'ops'] });
    expect(identity.claims).toMatchObject({ department: 'r&d', level: 3, name: 'Alice', scope: 'mcp' });
  });

  it('have the groups of the configured claim', async () => {
    await open({ groups_claim: 'department' });
    expect((await endpoint.call(await token())).identity.groups).toEqual(['r&d']);
  });

  it('have the groups of a mixed list, which policies cannot read, as from other issuers', async () => {
    await open({ groups_claim: 'teams' });
    const { identity } = await endpoint.call(await token());
    expect(identity.groups).toEqual(['dev', 'ops']);
    expect(identity.claims).not.toHaveProperty('teams');
    expect(identity.claims).toHaveProperty('groups');
  });

  it('get a 401 at once when their login ends in this process, and within 5 seconds when elsewhere', async () => {
    await open();
    const bearer = await token();
    expect((await endpoint.call(bearer)).status).toBe(200);
    await storage.endSession('session-1');
    endpoint.clock.time += 4_999;
    expect((await endpoint.call(bearer)).status).toBe(200);
    endpoint.clock.time += 1;
    const { status, headers } = await endpoint.call(bearer);
    expect(status).toBe(401);
    expect(headers['www-authenticate']).toContain('error="invalid_token"');
    expect(headers['www-authenticate']).toContain('The login behind the access token has ended');
  });

  it('get a 401 at once when a replica event reports the end', async () => {
    await open();
    const bearer = await token();
    expect((await endpoint.call(bearer)).status).toBe(200);
    await storage.endSession('session-1');
    check.forget('session-1');
    expect((await endpoint.call(bearer)).status).toBe(401);
  });

  it('get a 401 if they name no login, or one of another user or client', async () => {
    await open();
    for (const wrong of [
      { sub: 'bob' },
      { client_id: 'other' },
      { tsid: 'session-2' },
      { tsid: undefined },
      { tsid: 7 },
    ])
      expect((await endpoint.call(await token(wrong as JWTPayload))).status).toBe(401);
    expect((await endpoint.call(await token())).status).toBe(200);
  });

  it('get a 503 during a storage outage, while cached logins remain valid', async () => {
    await open();
    const bearer = await token();
    down = true;
    const { status, headers } = await endpoint.call(bearer);
    expect(status).toBe(503);
    expect(headers['retry-after']).toBe('5');
    down = false;
    expect((await endpoint.call(bearer)).status).toBe(200);
    down = true;
    expect((await endpoint.call(bearer)).status).toBe(200);
  });

  it('cost one storage read per 5 seconds, regardless of concurrent requests', async () => {
    await open();
    const bearer = await token();
    await Promise.all(Array.from({ length: 20 }, () => endpoint.call(bearer)));
    expect(looks).toBe(1);
    endpoint.clock.time += 5_000;
    await endpoint.call(bearer);
    expect(looks).toBe(2);
  });

  it('return the same identity at once while the cached login is unchanged', async () => {
    await open();
    const headers = ['authorization', `Bearer ${await token()}`];
    const first = await endpoint.authenticator.authenticate(headers);
    expect(endpoint.authenticator.authenticate(headers)).toBe(first);
    endpoint.clock.time += 5_000;
    expect(await endpoint.authenticator.authenticate(headers)).toBe(first);
    const user = { ...session.user, claims: { groups: ['none'] } };
    await storage.amendSession('session-1', { user, answered_at: START });
    endpoint.clock.time += 5_000;
    const changed = await endpoint.authenticator.authenticate(headers);
    expect(changed.groups).toEqual(['none']);
    expect(changed.claims).not.toHaveProperty('department');
  });

  it('report to streams whether their login exists', async () => {
    await open();
    const identity = await endpoint.authenticator.authenticate(['authorization', `Bearer ${await token()}`]);
    expect(await endpoint.authenticator.isAlive?.(identity)).toBe(true);
    await storage.endSession('session-1');
    check.forget('session-1');
    expect(await endpoint.authenticator.isAlive?.(identity)).toBe(false);
    down = true;
    check.forget('session-1');
    await expect(endpoint.authenticator.isAlive?.(identity)).rejects.toThrow(RequestError);
  });

  it('report an end at another replica to streams sooner than to requests, which may reread after 5 s', async () => {
    await open();
    const headers = ['authorization', `Bearer ${await token()}`];
    const identity = await endpoint.authenticator.authenticate(headers);
    await storage.endSession('session-1');
    endpoint.clock.time += 999;
    expect(await endpoint.authenticator.isAlive?.(identity)).toBe(true);
    expect(looks).toBe(1);
    endpoint.clock.time += 1;
    expect(endpoint.authenticator.authenticate(headers)).toBe(identity);
    const look = async () => endpoint.authenticator.isAlive?.(identity);
    expect(await Promise.all([look(), look()])).toEqual([false, false]);
    expect(looks).toBe(2);
  });

  it('get a 503 under a key that may still arrive, and a 401 afterwards', async () => {
    await open();
    const bearer = await token({}, { ...key, jwk: { kid: 'unheard-of' } });
    lag = true;
    expect((await endpoint.call(bearer)).status).toBe(503);
    lag = false;
    expect((await endpoint.call(bearer)).status).toBe(401);
  });

  it('require the logins beside the keys', async () => {
    await open();
    const keys = { embeddedKeys: () => ({ keys: [key.jwk] }) };
    await expect(startEndpoint({ issuer: ISSUER, embedded: true }, keys)).rejects.toThrow(/authorization server/);
  });
});

describe('login cache', () => {
  it('has a bounded size', async () => {
    let looks = 0;
    const storage = createMemoryStorage({ now: () => START });
    const counting = { ...storage, getSession: () => (looks++, Promise.resolve(undefined)) } as AuthStorage;
    const check = createSessionCheck(counting, () => START);
    const ask = (tsid: string) => check.claimsOf({ subject: 's', clientId: 'c', tsid });
    for (let i = 0; i <= 10_000; i++) await ask(`t${i}`);
    expect(looks).toBe(10_001);
    await ask('t10000');
    expect(looks).toBe(10_001);
    await ask('t0');
    expect(looks).toBe(10_002);
  });

  it('ignores a read that began before an end', async () => {
    const storage = createMemoryStorage({ now: () => START });
    let answer: (found: unknown) => void = () => undefined;
    const slow = {
      ...storage,
      getSession: () => new Promise((resolve) => (answer = resolve)),
    } as unknown as AuthStorage;
    const check = createSessionCheck(slow, () => START);
    const token = { subject: 'alice', clientId: 'app', tsid: 't' };
    const asked = check.claimsOf(token);
    check.forget('t');
    answer({ ...session, gen: 0, rotated_at: START });
    expect(await asked).toMatchObject({ department: 'r&d' });
    const again = check.claimsOf(token);
    expect(again).toBeInstanceOf(Promise);
    answer(undefined);
    expect(await again).toBeUndefined();
  });
});
