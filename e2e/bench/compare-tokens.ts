import { startRedis, type RedisServer } from '../redis/start-redis.ts';
import type { LoadGenerator } from './load.ts';
import type { LoadResult } from './load-job.ts';
import { median } from './side-by-side.ts';
import { startBareExpress, startTokenServer, type TokenTarget } from './targets.ts';
import { tokenClients, type Grant, type Prepared } from './token-job.ts';

/** Calls of a token endpoint relative to those of a bare POST on express, on the same core in the same run. */
interface TokenRow {
  readonly grant: Grant;
  readonly storage: 'memory' | 'redis';
  readonly rps: number;
  readonly bareRps: number;
  readonly ratio: number;
  /** Microseconds a call. */
  readonly cpu: number;
  readonly errors: number;
  readonly error: string | undefined;
}

export interface TokenFindings {
  readonly rows: readonly TokenRow[];
  /** Bytes of heap for each session, in memory storage. */
  readonly perSession: number;
  readonly perClient: number;
}

export interface TokenPace {
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  readonly filled: number;
}

const CONNECTIONS = 32;
/** More than a connection can use up in a round. */
const GRANTS_A_MS = 0.34;
/** The in-memory storage keeps 10,000 codes, so their rounds are shorter. */
const SHARE_OF_ROUND: Record<Grant, number> = { refresh_token: 1, authorization_code: 0.5 };

/** Measures refresh and code exchange, with storage in memory and in Redis, alternating with the bare POST. */
export async function compareTokens(load: LoadGenerator, pace: TokenPace): Promise<TokenFindings> {
  const redis: RedisServer = await startRedis();
  const targets = {
    memory: await startTokenServer({ type: 'memory' }),
    redis: await startTokenServer({ type: 'redis', redis: { addr: redis.address, key_prefix: 'vmcp:bench:' } }),
  };
  const bare = await startBareExpress();
  try {
    const rows: TokenRow[] = [];
    for (const grant of ['refresh_token', 'authorization_code'] as const) {
      for (const storage of ['memory', 'redis'] as const) {
        rows.push(await compareGrant(load, { grant, storage, target: targets[storage], bare, pace }));
      }
    }
    const heap = async () => (await targets.memory.ask<{ heap: number }>('/memory')).heap;
    const fill = async (what: string): Promise<number> => {
      const before = await heap();
      await targets.memory.ask(`/fill?what=${what}&count=${pace.filled}`);
      return ((await heap()) - before) / pace.filled;
    };
    return { rows, perSession: await fill('sessions'), perClient: await fill('clients') };
  } finally {
    await Promise.all([targets.memory.stop(), targets.redis.stop(), bare.stop()]);
    await redis.stop();
  }
}

interface Comparing {
  readonly grant: Grant;
  readonly storage: 'memory' | 'redis';
  readonly target: TokenTarget;
  readonly bare: TokenTarget;
  readonly pace: TokenPace;
}

async function compareGrant(load: LoadGenerator, of: Comparing): Promise<TokenRow> {
  const { grant, storage, target, bare, pace } = of;
  const warmUpMs = pace.warmUpMs * SHARE_OF_ROUND[grant];
  const measureMs = pace.measureMs * SHARE_OF_ROUND[grant];
  const gens = Math.ceil((warmUpMs + measureMs) * GRANTS_A_MS);
  const what = grant === 'refresh_token' ? 'sessions' : 'codes';
  let from = 0;
  const run = async ({ port, pid }: TokenTarget, prepared: Prepared): Promise<LoadResult> => {
    const clients = tokenClients(grant, prepared);
    const job = { port, path: '/oauth/token', clients, warmUpMs, measureMs, pids: { server: pid } };
    return load.run({ ...job, member: 'access_token' });
  };
  const results: { own: LoadResult; bare: LoadResult }[] = [];
  // The first round warms up.
  for (let round = 0; round <= pace.rounds; round += 1) {
    const prepared = await target.ask<Prepared>(`/${what}?count=${CONNECTIONS}&gens=${gens}&from=${from}`);
    // The next round starts at generations after the last one used, which counts as one rotation.
    from += gens;
    const own = await run(target, prepared);
    const beside = await run(bare, { ...prepared, all: prepared.all.map((grants) => grants.slice(0, 50)) });
    if (round > 0) results.push({ own, bare: beside });
  }
  const of_ = (pick: (result: (typeof results)[number]) => number) => median(results.map(pick));
  return {
    grant,
    storage,
    rps: of_(({ own }) => own.rps),
    bareRps: of_((result) => result.bare.rps),
    ratio: of_(({ own, bare: beside }) => own.rps / beside.rps),
    cpu: of_(({ own }) => own.cpu.server ?? 0),
    errors: results.reduce((sum, { own, bare: beside }) => sum + own.errors + beside.errors, 0),
    error: results.find(({ own }) => own.error !== undefined)?.own.error,
  };
}
