import { serveIdentityProvider, type IdentityProvider } from '../fakes/identity-provider/serve.ts';
import { cpuMicros } from './cpu-time.ts';
import { listTools, openSession } from './mcp-client.ts';
import { median } from './side-by-side.ts';
import { startBackends, startListing, type Target } from './targets.ts';

/**
 * CPU time of the server for one `tools/list`, in microseconds. Each ratio is the median of the ratios of the rounds.
 */
interface ListRow {
  readonly name: string;
  readonly plain: number;
  readonly decided: number;
  readonly ratio: number;
}

export interface ListFindings {
  readonly tools: number;
  readonly rows: readonly ListRow[];
}

export interface ListPace {
  readonly rounds: number;
  /** Principals that list for the first time in each round. */
  readonly principals: number;
}

interface Costs {
  readonly first: number;
  readonly alike: number;
  readonly own: number;
}

const TOOLS = 2_000;

/** Measures the first list of several principals over 2,000 tools, without and with ten policies, in new processes. */
export async function compareLists({ rounds, principals }: ListPace): Promise<ListFindings> {
  const backends = await startBackends(2, TOOLS / 2);
  const identity = await serveIdentityProvider({ audiences: ['backend'] });
  try {
    const results: { plain: Costs; decided: Costs }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const measure = (withPolicies: boolean) => measureOne(backends.urls, { identity, principals, withPolicies });
      results.push({ plain: await measure(false), decided: await measure(true) });
    }
    const row = (name: string, pick: (costs: Costs) => number): ListRow => ({
      name,
      plain: median(results.map(({ plain }) => pick(plain))),
      decided: median(results.map(({ decided }) => pick(decided))),
      ratio: median(results.map(({ plain, decided }) => pick(decided) / pick(plain))),
    });
    const rows = [
      row('first principal', ({ first }) => first),
      row('each further principal with the same claims', ({ alike }) => alike),
      row('each further principal with a claim of its own', ({ own }) => own),
    ];
    return { tools: TOOLS, rows };
  } finally {
    await identity.close();
    await backends.stop();
  }
}

interface Arrangement {
  readonly identity: IdentityProvider;
  readonly principals: number;
  readonly withPolicies: boolean;
}

async function measureOne(urls: string[], { identity, principals, withPolicies }: Arrangement): Promise<Costs> {
  const half = Math.floor((principals - 1) / 2);
  const target = await startListing(urls, identity, { principals, own: half, withPolicies });
  try {
    const sessions: Record<string, string>[] = [];
    for (const token of target.tokens ?? []) sessions.push(await openSession(target.url, token));
    const [first, ...others] = sessions;
    if (first === undefined || half === 0) throw new Error('a round needs three principals');
    const [alike, own] = [others.slice(0, -half), others.slice(-half)];
    return {
      first: await cpuOf(target, [first]),
      alike: (await cpuOf(target, alike)) / alike.length,
      own: (await cpuOf(target, own)) / own.length,
    };
  } finally {
    await target.stop();
  }
}

async function cpuOf({ pid, url }: Target, sessions: readonly Record<string, string>[]): Promise<number> {
  const before = cpuMicros(pid);
  for (const session of sessions) {
    const { length } = await listTools(url, session);
    if (length !== TOOLS) throw new Error(`a list has ${length} of ${TOOLS} tools`);
  }
  return cpuMicros(pid) - before;
}
