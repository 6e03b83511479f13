import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { until } from '../gateway/until.ts';
import type { Page } from '../robot/page.ts';
import { Robot } from '../robot/robot.ts';
import { arrange, type Arrangement } from './arrangement.ts';
import { callWhoami } from './call-tool.ts';
import { tokensOf, type OAuthClient } from './oauth-client.ts';
import { describeOnEachStorage } from './storages.ts';
import { setWallClock, type WallClock } from './wall-clock.ts';

const TIMES = 5;
const isRenewal = ({ form }: { readonly form: URLSearchParams }) => form.get('grant_type') === 'refresh_token';

/** Runs both at once. Each time, one of them starts a little earlier. */
async function together<A, B>(times: number, one: () => Promise<A>, other: () => Promise<B>): Promise<[A, B]> {
  const late = async <T>(begin: () => Promise<T>, ticks: number): Promise<T> => {
    for (let tick = 0; tick < ticks; tick += 1) await new Promise((resolve) => setImmediate(resolve));
    return begin();
  };
  return Promise.all([late(one, times % 2 === 0 ? 0 : times), late(other, times % 2 === 0 ? times : 0)]);
}

describeOnEachStorage('a pair or group of parallel requests', (fixture) => {
  let setup: Arrangement;
  let client: OAuthClient;
  let clock: WallClock;
  let people = 0;
  /** Settles when the last provider may answer token requests. */
  let answering = Promise.resolve();
  const before = (path: string) => (path === '/token' ? answering : Promise.resolve());
  const someone = () => ({ user: `racer-${++people}` });

  beforeAll(async () => {
    clock = setWallClock();
    const providers = [
      { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates' } },
      { name: 'github', kind: 'odd', options: { refresh: 'rotates', expiresIn: 1, before } },
    ] as const;
    setup = await arrange({ providers, storage: fixture().fresh() });
    client = await setup.client();
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await setup.close();
  });

  const isOver = async (accessToken: string, refreshTokens: readonly string[]) => {
    for (const token of refreshTokens) expect((await client.refresh(token)).body.error).toBe('invalid_grant');
    expect((await callWhoami(setup.resource, accessToken, 'github')).status).toBe(401);
  };

  /** Presses a button of the connections page. Returns a function that confirms it. */
  async function press(robot: Robot, action: string, provider?: string): Promise<() => Promise<Page>> {
    const page = await robot.open(`${setup.origin}/connections`);
    const form = page.forms.find(({ fields }) =>
      Object.entries({ action, ...(provider && { provider }) }).every(([name, value]) =>
        fields.some((field) => field.name === name && field.value === value),
      ),
    );
    if (form === undefined) throw new Error(`no button ${action} at the connections`);
    const asked = await robot.submit(page, { form });
    return () => robot.submit(asked);
  }

  it('ends the session: a refresh and a revocation', async () => {
    for (let times = 0; times < TIMES; times += 1) {
      const tokens = await client.login(someone());
      const [refreshed, revoked] = await together(
        times,
        () => client.refresh(tokens.refresh_token),
        () => client.revoke(tokens.refresh_token),
      );
      expect(revoked.status).toBe(200);
      expect([200, 400]).toContain(refreshed.status);
      const next = refreshed.status === 200 ? tokensOf(refreshed) : tokens;
      await isOver(next.access_token, [tokens.refresh_token, next.refresh_token]);
    }
  });

  it('ends all sessions: a refresh, a redemption and a sign-out everywhere', async () => {
    for (let times = 0; times < TIMES; times += 1) {
      const [person, robot] = [someone(), new Robot()];
      const tokens = await client.login(person, { robot });
      const done = await client.code(person, { robot });
      const signOut = await press(robot, 'sign-out');
      const [[refreshed, redeemed]] = await together(
        times,
        () => Promise.all([client.refresh(tokens.refresh_token), client.redeem(done)]),
        signOut,
      );
      for (const came of [refreshed, redeemed]) {
        expect([200, 400]).toContain(came.status);
        const next = came.status === 200 ? tokensOf(came) : tokens;
        await isOver(next.access_token, [next.refresh_token]);
      }
      expect((await robot.open(`${setup.origin}/connections`)).text).toContain('Sign in to see your connections');
    }
  });

  it('begins one login: ten copies of one consent form', async () => {
    const robot = new Robot();
    const consent = await robot.open(client.begin().url);
    const before = (url: URL) => url.host === setup.providers.okta?.host;
    const pages = await Promise.all(Array.from({ length: 10 }, () => robot.submit(consent, {}, { before })));
    expect(new Set(pages.map(({ next }) => next?.href))).toEqual(new Set([expect.any(String)]));
  });

  it('ends one login step with one request to the provider: ten copies of one callback', async () => {
    const [person, robot] = [someone(), new Robot()];
    const callback = (url: URL) => url.pathname === '/oauth/callback/okta';
    const { next } = await robot.walk(client.begin().url, person, { before: callback });
    const asked = () => setup.providers.okta?.odd?.of('/token').length ?? 0;
    const askedBefore = asked();
    const before = (url: URL) => url.host === setup.providers.github?.host;
    const pages = await Promise.all(Array.from({ length: 10 }, () => robot.open(next!, { before })));
    expect(new Set(pages.map((page) => page.next?.href))).toEqual(new Set([expect.any(String)]));
    expect(asked() - askedBefore).toBe(1);
  });

  it('unlinks the provider: a renewal and an unlinking', async () => {
    const begin = async () => {
      const robot = new Robot();
      const tokens = await client.login(someone(), { robot });
      const unlink = await press(robot, 'unlink', 'github');
      return { robot, tokens, unlink, call: () => callWhoami(setup.resource, tokens.access_token, 'github') };
    };
    const isUnlinked = async ({ robot, tokens }: Awaited<ReturnType<typeof begin>>) => {
      const page = await robot.open(`${setup.origin}/connections`);
      expect(page.forms.filter(({ fields }) => fields.some(({ value }) => value === 'unlink'))).toHaveLength(1);
      expect((await client.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
    };
    const prepared = [];
    for (let times = 0; times < TIMES; times += 1) prepared.push(await begin());
    const last = await begin();
    clock.forward(1_000);
    for (const [times, one] of prepared.entries()) {
      await together(times, one.call, one.unlink);
      await isUnlinked(one);
    }
    // Once more, with the provider's answer after the unlinking.
    const renewals = () => setup.providers.github?.odd?.of('/token').filter(isRenewal).length ?? 0;
    const former = renewals();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    answering = promise;
    const called = last.call();
    await until('the renewal', () => renewals() > former);
    await last.unlink();
    resolve(undefined);
    await called;
    await isUnlinked(last);
  });

  it('ends the session and all its tokens: an old and the current refresh token', async () => {
    for (let times = 0; times < TIMES; times += 1) {
      const first = await client.login(someone());
      const second = tokensOf(await client.refresh(first.refresh_token));
      const third = tokensOf(await client.refresh(second.refresh_token));
      const [stolen, own] = await together(
        times,
        () => client.refresh(first.refresh_token),
        () => client.refresh(third.refresh_token),
      );
      expect(stolen.body.error).toBe('invalid_grant');
      const next = own.status === 200 ? tokensOf(own) : third;
      await isOver(next.access_token, [third.refresh_token, next.refresh_token]);
    }
  });
});
