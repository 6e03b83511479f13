import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { SessionClient } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { describeWithRedis } from '../redis/redis-programs.ts';
import { startRedis, type RedisServer } from '../redis/start-redis.ts';
import { arrangeProcesses, type ProcessArrangement } from './arrangement.ts';
import { callWhoami, whoIs } from './call-tool.ts';
import { tokensOf, type OAuthClient } from './oauth-client.ts';
import { accountAt } from './providers.ts';

/** Lifespan of the provider's access token, in seconds. */
const UPSTREAM_LIFESPAN = 2;

describeWithRedis('two processes on one Redis', () => {
  let redis: RedisServer;
  let setup: ProcessArrangement;
  let clients: readonly OAuthClient[];
  let endpoints: readonly string[];
  let people = 0;
  const someone = () => ({ user: `user-${++people}` });
  const inTurn = <T>(all: readonly T[], nr: number): T => all[nr % all.length]!;
  const many = <T>(count: number, ask: (nr: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, nr) => ask(nr)));

  beforeAll(async () => {
    redis = await startRedis();
    setup = await arrangeProcesses({
      replicas: 2,
      providers: [
        { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: UPSTREAM_LIFESPAN } },
      ],
      storage: { type: 'redis', redis: { addr: redis.address, key_prefix: 'vmcp:' } },
    });
    const client = await setup.client();
    endpoints = setup.processes.map(({ url }) => url);
    clients = endpoints.map((url) => client.at(new URL(url).origin));
  });
  afterAll(async () => {
    await setup.close();
    await redis.stop();
  });

  it('renew an upstream token once for sixty parallel calls at its end', async () => {
    const [person, odd] = [someone(), setup.providers.okta!.odd!];
    const { access_token: token } = await inTurn(clients, 0).login(person);
    const refreshes = () => odd.of('/token').filter(({ form }) => form.get('grant_type') === 'refresh_token').length;
    await many(2, (nr) => whoIs(inTurn(endpoints, nr), token, 'okta'));
    const given = odd.of('/token').at(-1)?.at ?? 0;
    await until('the end of the upstream token', () => Date.now() >= given + UPSTREAM_LIFESPAN * 1_000);
    const before = refreshes();
    const callers = await many(60, (nr) => whoIs(inTurn(endpoints, nr), token, 'okta'));
    expect(refreshes() - before).toBe(1);
    for (const caller of callers) expect(accountAt(setup.providers.okta!, caller)).toBe(person.user);
  });

  it('give twenty parallel refreshes one successor', async () => {
    const { refresh_token: token } = await inTurn(clients, 0).login(someone());
    const answers = await many(20, (nr) => inTurn(clients, nr).refresh(token));
    expect(new Set(answers.map((came) => tokensOf(came).refresh_token)).size).toBe(1);
  });

  it('have one winner of ten parallel redemptions of one code', async () => {
    const done = await inTurn(clients, 0).code(someone());
    const answers = await many(10, (nr) => inTurn(clients, nr).redeem(done));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status, body } of answers) if (status !== 200) expect(body.error).toBe('invalid_grant');
  });

  it('refuse a token within 5 seconds after its revocation at the other, and end its streams', async () => {
    const tokens = await inTurn(clients, 0).login(someone());
    const session = await SessionClient.open(inTurn(endpoints, 1), { authorization: `Bearer ${tokens.access_token}` });
    const stream = await session.stream();
    for (const url of endpoints) expect((await callWhoami(url, tokens.access_token, 'okta')).status).toBe(200);
    expect((await inTurn(clients, 0).revoke(tokens.refresh_token)).status).toBe(200);
    expect((await callWhoami(inTurn(endpoints, 0), tokens.access_token, 'okta')).status).toBe(401);
    const revokedAt = performance.now();
    const there = () => callWhoami(inTurn(endpoints, 1), tokens.access_token, 'okta');
    await until('a refusal at the other', async () => (await there()).status === 401);
    await until('the end of the stream', () => !stream.isOpen());
    // 5 s, and time for a busy machine.
    expect(performance.now() - revokedAt).toBeLessThan(8_500);
  });

  it('lose no login when one of them is killed', async () => {
    const person = someone();
    const tokens = await inTurn(clients, 0).login(person);
    process.kill(setup.processes[0]!.pid, 'SIGKILL');
    await setup.processes[0]!.ended;
    const next = tokensOf(await inTurn(clients, 1).refresh(tokens.refresh_token));
    for (const { access_token: token } of [tokens, next]) {
      expect(accountAt(setup.providers.okta!, await whoIs(inTurn(endpoints, 1), token, 'okta'))).toBe(person.user);
    }
  });
});
