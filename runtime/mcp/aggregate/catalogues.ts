import type { Aggregation } from '#crds/run-config/aggregation';
import { NoAnswer } from '#runtime/mcp/backends/ask';
import type { Backend } from '#runtime/mcp/backends/backend';
import { isAway, serves } from '#runtime/mcp/backends/health';
import type { Log } from '#runtime/telemetry/log';
import type { Asker } from './asker.ts';
import type { Building, Catalogue, CatalogueEntry, KindCatalogue } from './catalogue.ts';
import { composeNames, type NameConflict } from './compose-names.ts';
import type { BackendList } from './fetch-list.ts';
import { Gathering } from './gathering.ts';
import type { ListCache } from './list-cache.ts';
import { LIST_KINDS, LIST_SPECS, type ListKind } from './list-kinds.ts';

const MAX_CATALOGUES = 2_000;
const DEFAULT_TTL = 60_000;
/** A name that is not there may be new: the lists are asked again, but not more often than this. */
const MISS_REFRESH = 1_000;

interface CataloguesOptions {
  readonly backends: () => readonly Backend[];
  readonly aggregation: () => Aggregation;
  readonly maxNameLength: () => number;
  /** Milliseconds that a list waits for slow backends. */
  readonly listDeadline: () => number;
  /** A backend that is away is missing from a list, not just left out of it. */
  readonly missesAway: () => boolean;
  readonly lists: ListCache;
  readonly now: () => number;
  readonly log: Log;
}

/** The aggregated lists, one catalogue for each kind of client. */
export class Catalogues {
  readonly #options: CataloguesOptions;
  readonly #catalogues = new Map<string, Catalogue>();

  constructor(options: CataloguesOptions) {
    this.#options = options;
  }

  /** The catalogue of clients that see what this one sees. */
  of(asker: Asker): Catalogue {
    const perUser = this.#options.backends().some((backend) => backend.credential.perUser);
    const key = `${asker.era}\n${perUser ? JSON.stringify(asker.identity.key) : ''}\n${asker.capabilities}`;
    const known = this.#catalogues.get(key);
    if (known) {
      known.lastUsed = this.#options.now();
      return known;
    }
    if (this.#catalogues.size >= MAX_CATALOGUES) this.#dropOldest();
    const catalogue: Catalogue = {
      kinds: {},
      building: {},
      stale: new Set(),
      changes: 0,
      lastUsed: this.#options.now(),
      retired: false,
    };
    this.#catalogues.set(key, catalogue);
    return catalogue;
  }

  /** A fresh list. Backends that do not answer in time are left out. */
  list(catalogue: Catalogue, kind: ListKind, asker: Asker): KindCatalogue | Promise<KindCatalogue> {
    const built = catalogue.kinds[kind];
    if (built && !catalogue.stale.has(kind) && built.missing.length === 0 && built.expiresAt > this.#options.now())
      return built;
    return this.#building(catalogue, kind, asker).built;
  }

  /**
   * The entry of this name, at once where it is known, and else as soon as no list that is still awaited could change it.
   * Undefined: nobody offers it.
   */
  find(
    catalogue: Catalogue,
    kind: ListKind,
    name: string,
    asker: Asker,
  ): CatalogueEntry | undefined | Promise<CatalogueEntry | undefined> {
    const built = catalogue.kinds[kind];
    if (built && !catalogue.stale.has(kind)) {
      const now = this.#options.now();
      const entry = built.byName.get(name);
      if (entry) {
        // What was right a minute ago serves this call; the next one finds the fresh list.
        if (built.expiresAt <= now) void Promise.resolve(this.list(catalogue, kind, asker)).catch(() => undefined);
        return entry;
      }
      if (now - built.builtAt < MISS_REFRESH) return undefined;
      markStale(catalogue, [kind]);
    }
    const list = this.list(catalogue, kind, asker);
    return list instanceof Promise ? this.#findEarly(catalogue, kind, name, asker) : list.byName.get(name);
  }

  async #findEarly(
    catalogue: Catalogue,
    kind: ListKind,
    name: string,
    asker: Asker,
  ): Promise<CatalogueEntry | undefined> {
    const { gathering, built } = this.#building(catalogue, kind, asker);
    const decided = await gathering.decide(name);
    return decided ? decided.entry : (await built).byName.get(name);
  }

  #building(catalogue: Catalogue, kind: ListKind, asker: Asker): Building {
    return (catalogue.building[kind] ??= this.#begin(catalogue, kind, asker));
  }

  /** These lists must be composed again, for everybody. */
  invalidate(kinds: readonly ListKind[] = LIST_KINDS): void {
    for (const catalogue of this.#catalogues.values()) markStale(catalogue, kinds);
  }

  /** A list came after its deadline: true when a catalogue was composed without it. */
  noteArrival(backend: string, kind: ListKind): boolean {
    let wasMissing = false;
    for (const catalogue of this.#catalogues.values()) {
      if (!catalogue.kinds[kind]?.missing.includes(backend)) continue;
      markStale(catalogue, [kind]);
      wasMissing = true;
    }
    return wasMissing;
  }

  /** Names that were dropped because two backends' names composed to the same. */
  conflicts(): string[] {
    const all = new Set<string>();
    for (const catalogue of this.#catalogues.values()) {
      for (const kind of LIST_KINDS) for (const conflict of catalogue.kinds[kind]?.conflicts ?? []) all.add(conflict);
    }
    return [...all].sort();
  }

  /** How many tools the largest catalogue offers; null until one was composed. */
  toolCount(): number | null {
    const counts = [...this.#catalogues.values()].flatMap(({ kinds }) => kinds.tools?.byName.size ?? []);
    return counts.length === 0 ? null : Math.max(...counts);
  }

  clear(): void {
    for (const catalogue of this.#catalogues.values()) catalogue.retired = true;
    this.#catalogues.clear();
  }

  #begin(catalogue: Catalogue, kind: ListKind, asker: Asker): Building {
    const { missing, gathering } = this.#gather(kind, asker);
    const built = this.#build(catalogue, kind, gathering, missing).finally(() => {
      // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- one of four fixed keys
      delete catalogue.building[kind];
    });
    // Whoever needed one name of it may be gone.
    built.catch(() => undefined);
    return { gathering, built };
  }

  async #build(
    catalogue: Catalogue,
    kind: ListKind,
    gathering: Gathering,
    missing: readonly string[],
  ): Promise<KindCatalogue> {
    const wasStale = catalogue.stale.has(kind);
    const { changes } = catalogue;
    await gathering.done;
    const { lists } = gathering;
    if (catalogue.changes === changes) catalogue.stale.delete(kind);
    const before = catalogue.kinds[kind];
    const now = this.#options.now();
    const sources = lists.map(({ list }) => list);
    if (
      before &&
      !wasStale &&
      sameLists(before.sources, sources) &&
      missing.length === 0 &&
      before.missing.length === 0
    ) {
      const renewed = { ...before, builtAt: now, expiresAt: now + before.ttlMs };
      catalogue.kinds[kind] = renewed;
      return renewed;
    }
    const named = lists.map(({ backend, list }) => ({ backend: backend.config, entries: list.entries }));
    const composed = composeNames(kind, named, this.#options.aggregation(), this.#options.maxNameLength());
    const { entries } = composed;
    const conflicts = composed.conflicts.map((conflict) => describeConflict(kind, conflict));
    for (const conflict of conflicts) {
      if (!before?.conflicts.includes(conflict)) this.#options.log.warn('names collide', { kind, conflict });
    }
    const ttlMs = Math.min(DEFAULT_TTL, ...sources.map((list) => list.ttlMs ?? DEFAULT_TTL));
    const built: KindCatalogue = {
      entries,
      byName: new Map(entries.map((entry) => [entry.name, entry])),
      missing,
      sources,
      conflicts,
      builtAt: now,
      expiresAt: now + ttlMs,
      ttlMs,
      isPublic: sources.every((list) => list.isPublic),
      rendered: new Map(),
    };
    catalogue.kinds[kind] = built;
    return built;
  }

  #gather(kind: ListKind, asker: Asker): { gathering: Gathering; missing: readonly string[] } {
    const { backends, lists, missesAway, aggregation, maxNameLength, log } = this.#options;
    const having = backends().filter((backend) => mayHave(backend, kind));
    const away = missesAway() ? having.filter(({ health }) => isAway(health, asker.era)) : [];
    const missing = away.map(({ name }) => name);
    const gathering = new Gathering({
      kind,
      asked: having.filter((backend) => serves(backend.health, asker.era)),
      fetch: (backend) => this.#within(lists.get(backend, kind, asker)),
      missed: ({ name }, error) => {
        missing.push(name);
        log.debug('a list is missing', { backend: name, kind, reason: describe(error) });
      },
      aggregation: aggregation(),
      maxNameLength: maxNameLength(),
    });
    return { gathering, missing };
  }

  #within(list: BackendList | Promise<BackendList>): BackendList | Promise<BackendList> {
    if (!(list instanceof Promise)) return list;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error('the list did not come in time')), this.#options.listDeadline());
    });
    // A list that comes later is not lost: the cache keeps it and says that it arrived.
    list.catch(() => undefined);
    return Promise.race([list, late]).finally(() => clearTimeout(timer));
  }

  #dropOldest(): void {
    let oldest: [string, Catalogue] | undefined;
    for (const entry of this.#catalogues) if (!oldest || entry[1].lastUsed < oldest[1].lastUsed) oldest = entry;
    if (!oldest) return;
    oldest[1].retired = true;
    this.#catalogues.delete(oldest[0]);
  }
}

/** Whether the backend has such a list at all; unknown capabilities are tried. */
function mayHave(backend: Backend, kind: ListKind): boolean {
  return backend.health.capabilities?.[LIST_SPECS[kind].capability] ?? true;
}

function describeConflict(kind: ListKind, { name, pairs }: NameConflict): string {
  const owners = pairs.map(({ backend, originalName }) => `${originalName} of ${backend}`).join(' and ');
  return `${kind} ${name}: ${owners} would have the same name, so none of them is advertised; override a name`;
}

function markStale(catalogue: Catalogue, kinds: readonly ListKind[]): void {
  catalogue.changes++;
  for (const kind of kinds) catalogue.stale.add(kind);
}

function sameLists(a: readonly BackendList[], b: readonly BackendList[]): boolean {
  return a.length === b.length && a.every((list, index) => list === b[index]);
}

function describe(error: unknown): string {
  return error instanceof NoAnswer ? error.failure.reason : error instanceof Error ? error.message : 'unknown';
}
