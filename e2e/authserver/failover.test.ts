import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { until } from '../gateway/until.ts';
import { describeWithRedis } from '../redis/redis-programs.ts';
import { startRedisGroup } from '../redis/start-redis-group.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { arrange } from './arrangement.ts';
import { whoIs } from './call-tool.ts';
import { tokensOf, type OAuthClient, type Tokens } from './oauth-client.ts';
import { accountAt } from './providers.ts';

const SESSIONS = 40;
/** Milliseconds between two refreshes of one session. */
const PAUSE = 100;

afterEach(closeAll);

/** A client that refreshes continuously. After a 503 it tries the same token again, as real clients do. */
interface Refreshing {
  readonly tokens: () => Tokens;
  readonly refusals: string[];
  readonly unavailable: () => number;
  /** Returns how often the client got new tokens. */
  readonly refreshed: () => number;
  stop(): Promise<void>;
}

function keepRefreshing(client: OAuthClient, first: Tokens): Refreshing {
  const state = { going: true, tokens: first, unavailable: 0, refreshed: 0 };
  const refusals: string[] = [];
  async function loop(): Promise<void> {
    while (state.going) {
      const came = await client.refresh(state.tokens.refresh_token);
      if (came.status === 200) {
        state.tokens = tokensOf(came);
        state.refreshed += 1;
      } else if (came.status === 503 && came.body.error === 'temporarily_unavailable') state.unavailable += 1;
      else refusals.push(`${came.status} ${came.text}`);
      await sleep(PAUSE);
    }
  }
  const done = loop();
  return {
    tokens: () => state.tokens,
    refusals,
    unavailable: () => state.unavailable,
    refreshed: () => state.refreshed,
    stop() {
      state.going = false;
      return done;
    },
  };
}

/** Waits until each client has got new tokens. */
async function untilAllRefreshed(loops: readonly Refreshing[]): Promise<void> {
  const before = loops.map((loop) => loop.refreshed());
  await until('a refresh of every session', () => loops.every((loop, nr) => loop.refreshed() > before[nr]!));
}

async function logInMany(client: OAuthClient): Promise<Tokens[]> {
  const all: Tokens[] = [];
  for (let nr = 0; nr < SESSIONS; nr += 1) all.push(await client.login({ user: `user-${nr}` }));
  return all;
}

describeWithRedis('the death of a Redis master with three Sentinels, while forty sessions refresh,', () => {
  it.each([
    ['at once', 0],
    ['after a second in which nothing was replicated', 1_000],
  ])(
    'causes only 503 meanwhile, and loses no session (%s)',
    async (_name, cut) => {
      const group = await startRedisGroup();
      closing({ close: () => group.stop() });
      const sentinel = { master_name: group.masterName, sentinel_addrs: [...group.sentinels] };
      const redis = { sentinel_config: sentinel, key_prefix: 'vmcp:failover:' };
      const setup = closing(await arrange({ storage: { type: 'redis', redis } }));
      const client = await setup.client();
      const loops = (await logInMany(client)).map((tokens) => keepRefreshing(client, tokens));
      await untilAllRefreshed(loops);
      if (cut > 0) {
        await group.replicated();
        await group.cutReplication();
        await Promise.all([sleep(cut), untilAllRefreshed(loops)]);
      }
      await group.killMaster();
      await group.failedOver();
      await untilAllRefreshed(loops);
      await Promise.all(loops.map((loop) => loop.stop()));
      expect(loops.flatMap(({ refusals }) => refusals)).toEqual([]);
      expect(loops.some(({ unavailable }) => unavailable() > 0)).toBe(true);
      for (const [nr, loop] of loops.entries()) {
        const { access_token: token } = tokensOf(await client.refresh(loop.tokens().refresh_token));
        const caller = await whoIs(setup.resource, token, 'okta');
        expect(accountAt(setup.providers.okta!, caller)).toBe(`user-${nr}`);
      }
    },
    60_000,
  );
});
