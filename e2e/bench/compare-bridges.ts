import { serveIdentityProvider } from '../fakes/identity-provider/serve.ts';
import { CLIENT_CORE, type LoadGenerator } from './load.ts';
import type { Era } from './mcp-client.ts';
import { BARE, compare, type Pace } from './side-by-side.ts';
import { startBackends, startBareProxy, startListing } from './targets.ts';

/** A client of one era in front of a backend of the other, over a bare proxy in front of a backend of the same era. */
export interface BridgeRow {
  readonly title: string;
  /** Microseconds a call. */
  readonly cpu: number;
  readonly cpuRatio: number;
  /** Highest ratio that the project accepts. */
  readonly limit: number;
  readonly errors: number;
}

interface Cell {
  readonly title: string;
  readonly era: Era;
  /** The method without which a server speaks only the other era. */
  readonly refuses: 'initialize' | 'server/discover';
  readonly streams: boolean;
  readonly limit: number;
}

const CELLS: readonly Cell[] = [
  {
    title: 'client of 2025-11-25, backend of 2026-07-28',
    era: '2025-11-25',
    refuses: 'initialize',
    streams: false,
    limit: 1.3,
  },
  {
    title: 'client of 2025-11-25, backend of 2026-07-28 with events',
    era: '2025-11-25',
    refuses: 'initialize',
    streams: true,
    limit: 1.3,
  },
  {
    title: 'client of 2026-07-28, backend of 2025-11-25',
    era: '2026-07-28',
    refuses: 'server/discover',
    streams: false,
    limit: 1.5,
  },
  {
    title: 'client of 2026-07-28, backend of 2025-11-25 with events',
    era: '2026-07-28',
    refuses: 'server/discover',
    streams: true,
    limit: 1.5,
  },
];

/** Compares each bridge with the bare proxy, round after round. */
export async function compareBridges(load: LoadGenerator, pace: Pace): Promise<BridgeRow[]> {
  const rows: BridgeRow[] = [];
  for (const cell of CELLS) rows.push(await compareCell(load, cell, pace));
  return rows;
}

async function compareCell(load: LoadGenerator, cell: Cell, pace: Pace): Promise<BridgeRow> {
  const { title, era, refuses, streams, limit } = cell;
  const kind = streams ? ['--streams'] : [];
  const both = await startBackends(1, 10, CLIENT_CORE, kind);
  const other = await startBackends(1, 10, CLIENT_CORE, [...kind, '--behaviour', 'html', '--method', refuses]);
  const identity = await serveIdentityProvider({ audiences: ['backend'] });
  // A legacy backend has a session for each principal. An anonymous caller would open one for each call.
  const gateway = await startListing(other.urls, identity, { principals: 8, own: 0, withPolicies: false });
  const targets = [await startBareProxy(both.urls[0] ?? ''), gateway];
  try {
    const shape = { title, era, payload: 100, connections: 32 };
    const { rows } = await compare(load, targets, undefined, shape, { ...pace, primeMs: pace.primeMs * 2 });
    const bridged = rows.find(({ name }) => name !== BARE);
    return {
      title,
      cpu: bridged?.cpu ?? Number.NaN,
      cpuRatio: bridged?.cpuRatio ?? Number.NaN,
      limit,
      errors: rows.reduce((sum, { errors }) => sum + errors, 0),
    };
  } finally {
    await Promise.all([...targets, both, other].map(({ stop }) => stop()));
    await identity.close();
  }
}
