import { serveIdentityProvider, type IdentityProvider } from '../fakes/identity-provider/serve.ts';
import { CLIENT_CORE, type LoadGenerator } from './load.ts';
import type { Era } from './mcp-client.ts';
import { BARE, compare, type Pace } from './side-by-side.ts';
import { startBackends, startBareProxy, startListing, startStdio, type Target } from './targets.ts';

/** A client of one era in front of a backend of the other. */
export interface BridgeRow {
  readonly title: string;
  /** The other side of the ratio. */
  readonly base: string;
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
  /** Starts the base, whose name is `BARE`, and the bridge. */
  readonly start: (cell: Cell, identity: IdentityProvider, started: Started) => Promise<Target[]>;
  readonly base: string;
  readonly limit: number;
}

/** Programs and servers that the measurement stops at its end. */
type Started = { stop: () => Promise<void> }[];

const OLDER = { era: '2025-11-25', refuses: 'initialize' } as const;
const NEWER = { era: '2026-07-28', refuses: 'server/discover' } as const;
const [TO_NEWER, TO_OLDER] = [
  'client of 2025-11-25, backend of 2026-07-28',
  'client of 2026-07-28, backend of 2025-11-25',
];

const PROXY = 'the bare proxy';
const DIRECT = 'a program of the same revision';

const CELLS: readonly Cell[] = [
  { ...OLDER, title: TO_NEWER, start: overHttp([]), base: PROXY, limit: 1.3 },
  { ...OLDER, title: `${TO_NEWER} with events`, start: overHttp(['--streams']), base: PROXY, limit: 1.3 },
  { ...OLDER, title: `${TO_NEWER} over stdio`, start: overStdio, base: DIRECT, limit: 1.5 },
  { ...NEWER, title: TO_OLDER, start: overHttp([]), base: PROXY, limit: 1.5 },
  { ...NEWER, title: `${TO_OLDER} with events`, start: overHttp(['--streams']), base: PROXY, limit: 1.5 },
  { ...NEWER, title: `${TO_OLDER} over stdio`, start: overStdio, base: DIRECT, limit: 1.5 },
];

function overHttp(kind: string[]): Cell['start'] {
  return async ({ refuses }, identity, started) => {
    const both = await startBackends(1, 10, CLIENT_CORE, kind);
    const other = await startBackends(1, 10, CLIENT_CORE, [...kind, '--behaviour', 'html', '--method', refuses]);
    started.push(both, other);
    // A legacy backend has a session for each principal. An anonymous caller would open one for each call.
    const gateway = await startListing(other.urls, identity, { principals: 8, own: 0, withPolicies: false });
    return [await startBareProxy(both.urls[0] ?? ''), gateway];
  };
}

/** The first gateway's program speaks the client's own era. */
async function overStdio({ refuses }: Cell, identity: IdentityProvider): Promise<Target[]> {
  const direct = await startStdio(refuses === 'initialize' ? 'server/discover' : 'initialize', identity);
  return [{ ...direct, name: BARE }, await startStdio(refuses, identity)];
}

/** Compares each bridge with its base, round after round. */
export async function compareBridges(load: LoadGenerator, pace: Pace): Promise<BridgeRow[]> {
  const rows: BridgeRow[] = [];
  for (const cell of CELLS) rows.push(await compareCell(load, cell, pace));
  return rows;
}

async function compareCell(load: LoadGenerator, cell: Cell, pace: Pace): Promise<BridgeRow> {
  const { title, base, era, limit } = cell;
  const started: Started = [];
  const identity = await serveIdentityProvider({ audiences: ['backend'] });
  try {
    const targets = await cell.start(cell, identity, started);
    started.push(...targets);
    const shape = { title, era, payload: 100, connections: 32 };
    const { rows } = await compare(load, targets, undefined, shape, { ...pace, primeMs: pace.primeMs * 2 });
    const bridged = rows.find(({ name }) => name !== BARE);
    return {
      title,
      base,
      cpu: bridged?.cpu ?? Number.NaN,
      cpuRatio: bridged?.cpuRatio ?? Number.NaN,
      limit,
      errors: rows.reduce((sum, { errors }) => sum + errors, 0),
    };
  } finally {
    await Promise.all(started.map(({ stop }) => stop()));
    await identity.close();
  }
}
