import type { Backend } from '#runtime/mcp/backends/backend';
import { AppUris, type AppUrisOptions } from './app-uris.ts';
import type { Asker } from './asker.ts';
import type { CatalogueEntry } from './catalogue-entry.ts';
import { findSame, markStale, type Building, type Catalogue, type KindCatalogue } from './catalogue.ts';
import { composeList, type ListParts } from './compose-list.ts';
import { countTools } from './count-tools.ts';
import { describeRenamed } from './describe-app-calls.ts';
import { connectTools, nameThatWaits } from './connect-tools.ts';
import { nameThatFailed } from './failed-names.ts';
import type { BackendList } from './fetch-list.ts';
import { gatherLists, type Gathered, type GatherOptions } from './gather-lists.ts';
import { LIST_KINDS, type ListKind } from './list-kinds.ts';
import { describeUnknownNames } from './unknown-names.ts';
import { describeUnknownOwnNames } from './unknown-policy-names.ts';

const KINDS_WITH_APPS: ListKind[] = ['tools', 'resources'];
const MAX_CATALOGUES = 2_000;
const DEFAULT_TTL = 60_000;
const MISS_REFRESH = 1_000; // Milliseconds between two refreshes after an unknown name, which may be new.
const CALL_REFRESH = 10_000; // The same after calls: a list may expire at once (ttlMs 0).
type FoundEntry = CatalogueEntry | undefined;

type CataloguesOptions = Omit<GatherOptions, 'apps'> & AppUrisOptions;

/** Aggregated lists, with one catalogue for each kind of client. */
export class Catalogues {
  readonly apps: AppUris;
  readonly #options: CataloguesOptions;
  readonly #catalogues = new Map<string, Catalogue>();
  #own: { readonly of: readonly Backend[]; readonly tools: ReadonlyMap<string, CatalogueEntry> } | undefined;

  constructor(options: CataloguesOptions) {
    this.#options = options;
    this.apps = new AppUris(options);
  }

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

  /** Omits backends that do not answer in time. */
  list(catalogue: Catalogue, kind: ListKind, asker: Asker): KindCatalogue | Promise<KindCatalogue> {
    const built = catalogue.kinds[kind];
    const isCurrent = built !== undefined && !catalogue.stale.has(kind) && built.expiresAt > this.#options.now();
    // A backend that was missing may answer now.
    if (isCurrent && built.missing.length === 0 && built.late.length === 0 && built.unlinked.size === 0) return built;
    return this.#building(catalogue, kind, asker).built;
  }

  /** Returns as soon as no pending list could change the result. Undefined: no backend offers the name. */
  find(catalogue: Catalogue, kind: ListKind, name: string, asker: Asker): FoundEntry | Promise<FoundEntry> {
    const built = catalogue.kinds[kind];
    if (built && !catalogue.stale.has(kind)) {
      const now = this.#options.now();
      const entry = built.byName.get(name);
      if (entry) {
        // The expired list serves this call, and a background refresh serves the next one.
        const staleAt = Math.max(built.expiresAt, built.builtAt + CALL_REFRESH);
        if (staleAt <= now) void Promise.resolve(this.list(catalogue, kind, asker)).catch(() => undefined);
        return entry;
      }
      const unlisted = this.#ownTool(kind, name) ?? this.#unlistedOf(built, kind, name);
      if (unlisted) return unlisted;
      if (now - built.builtAt < MISS_REFRESH) return this.#failedOf(built, kind, name);
      markStale(catalogue, [kind]);
    }
    const own = this.#ownTool(kind, name);
    if (own) return own;
    return this.#findFresh(catalogue, kind, name, asker);
  }

  /** Waits until the list deadline, and looks again; not if another caller's session ended. */
  async whenListed(entry: FoundEntry, catalogue: Catalogue, kind: ListKind, asker: Asker): Promise<FoundEntry> {
    const { backends, lists, listDeadline } = this.#options;
    const backend = entry?.failure && backends().find(({ name }) => name === entry.backend);
    if (!backend) return entry;
    const wait = lists.waitLeft(backend, asker, listDeadline());
    const isOfOneSession = entry.failure.answer.code === 'backend_session_lost';
    if (!isOfOneSession && !(await lists.arrivesWithin(backend, kind, asker, wait))) return entry;
    // A list that began before this one waits for other backends and has no entries of this backend.
    if (catalogue.building[kind]?.gathered.failures.has(entry.backend) === true)
      catalogue.building[kind] = this.#begin(catalogue, kind, asker);
    return this.#findFresh(catalogue, kind, entry.name, asker);
  }

  #findFresh(catalogue: Catalogue, kind: ListKind, name: string, asker: Asker): FoundEntry | Promise<FoundEntry> {
    const list = this.list(catalogue, kind, asker);
    return list instanceof Promise ? this.#findEarly(catalogue, kind, name, asker) : this.#entryOf(list, kind, name);
  }

  async #findEarly(catalogue: Catalogue, kind: ListKind, name: string, asker: Asker): Promise<FoundEntry> {
    const { gathered, built } = this.#building(catalogue, kind, asker);
    const decided = await gathered.gathering.decide(name);
    if (decided && (decided.entry || gathered.unlinked.size === 0))
      return decided.entry ?? this.#failedOf(gathered, kind, name);
    return this.#entryOf(await built, kind, name);
  }

  #entryOf(list: KindCatalogue, kind: ListKind, name: string): CatalogueEntry | undefined {
    return list.byName.get(name) ?? this.#unlistedOf(list, kind, name) ?? this.#failedOf(list, kind, name);
  }

  #failedOf({ failures }: Pick<KindCatalogue, 'failures'>, kind: ListKind, name: string): CatalogueEntry | undefined {
    const { aggregation, maxNameLength } = this.#options;
    return nameThatFailed(kind, name, failures, { aggregation: aggregation(), maxNameLength: maxNameLength() });
  }

  #unlistedOf({ unlisted, unlinked }: KindCatalogue, kind: ListKind, name: string): CatalogueEntry | undefined {
    return unlisted.get(name) ?? nameThatWaits(kind, name, unlinked, this.#options.aggregation());
  }

  /** A tool of the gateway is the same for all callers, even if it is hidden. */
  #ownTool(kind: ListKind, name: string): CatalogueEntry | undefined {
    return kind === 'tools' ? this.#ownTools().get(name) : undefined;
  }

  #ownTools(): ReadonlyMap<string, CatalogueEntry> {
    const backends = this.#options.backends();
    if (this.#own?.of !== backends)
      this.#own = { of: backends, tools: connectTools(backends, this.#options.maxNameLength()) };
    return this.#own.tools;
  }

  #building(catalogue: Catalogue, kind: ListKind, asker: Asker): Building {
    return (catalogue.building[kind] ??= this.#begin(catalogue, kind, asker));
  }

  invalidate(kinds: readonly ListKind[] = LIST_KINDS): void {
    for (const catalogue of this.#catalogues.values()) markStale(catalogue, kinds);
  }

  invalidateFor(principal: string): void {
    const wanted = JSON.stringify(principal);
    for (const [key, catalogue] of this.#catalogues)
      if (key.split('\n', 2)[1] === wanted) markStale(catalogue, LIST_KINDS);
  }

  /**
   * Returns the kinds whose lists have changed: a catalogue was composed without this list, or with `before`, which it
   * replaces, or the URI of an app has changed.
   */
  noteArrival(backend: string, kind: ListKind, list: BackendList, before: BackendList | undefined): ListKind[] {
    if (this.apps.learn(backend, kind, list)) {
      this.invalidate(KINDS_WITH_APPS);
      return KINDS_WITH_APPS;
    }
    let isAnyStale = false;
    for (const catalogue of this.#catalogues.values()) {
      const built = catalogue.kinds[kind];
      const isOther = before !== undefined && before !== list && built?.sources.includes(before) === true;
      const isLate = isOther && built.late.includes(backend);
      if (!isLate && !built?.missing.includes(backend)) continue;
      markStale(catalogue, [kind]);
      isAnyStale = true;
    }
    return isAnyStale ? [kind] : [];
  }

  warnings(): string[] {
    const { lists, backends, aggregation } = this.#options;
    const listed = backends().map(({ name, config: settings }) => ({
      settings,
      lists: (kind: ListKind) => lists.listsOf(name, kind),
    }));
    const inPolicies = backends().flatMap((backend) =>
      describeUnknownOwnNames(backend, (kind) => lists.listsOf(backend.name, kind)),
    );
    return [...this.#conflicts(), ...describeUnknownNames(listed, aggregation()), ...inPolicies];
  }

  #conflicts(): string[] {
    const all = new Set(describeRenamed(this.apps.renamed()));
    for (const catalogue of this.#catalogues.values()) {
      for (const kind of LIST_KINDS) for (const conflict of catalogue.kinds[kind]?.conflicts ?? []) all.add(conflict);
    }
    return [...all].sort();
  }

  /** Returns whether the last lists of a backend have an entry with this name of its own. */
  wasListed(backend: string, kind: ListKind, originalName: string): boolean {
    const { lists } = this.#options;
    return lists.listsOf(backend, kind).some(({ entries }) => entries.some(({ name }) => name === originalName));
  }

  /** Null while no list is composed. Backends with a list per user are not counted. */
  toolCount(): number | null {
    return countTools([...this.#catalogues.values()], this.#options.backends());
  }

  /** Undefined while a list is missing, or if lists differ between users. */
  all(kind: ListKind): readonly CatalogueEntry[] | undefined {
    if (this.#options.backends().some(({ credential }) => credential.perUser)) return undefined;
    const lists = [...this.#catalogues.values()].flatMap(({ kinds }) => kinds[kind] ?? []);
    if (lists.length === 0 || lists.some(({ missing }) => missing.length > 0)) return undefined;
    return lists.flatMap(({ entries }) => entries);
  }

  clear(): void {
    for (const catalogue of this.#catalogues.values()) catalogue.retired = true;
    this.#catalogues.clear();
    this.apps.assign();
  }

  #begin(catalogue: Catalogue, kind: ListKind, asker: Asker): Building {
    const gathered = gatherLists(kind, asker, { ...this.#options, apps: this.apps });
    const built = this.#build(catalogue, kind, gathered, asker).finally(() => {
      // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- one of four fixed keys
      if (catalogue.building[kind]?.built === built) delete catalogue.building[kind];
    });
    // The caller that needed one name may no longer wait, so no caller handles this rejection.
    built.catch(() => undefined);
    return { gathered, built };
  }

  async #build(
    catalogue: Catalogue,
    kind: ListKind,
    { gathering, missing, failures, late, unlinked }: Gathered,
    asker: Asker,
  ): Promise<KindCatalogue> {
    const wasStale = catalogue.stale.has(kind);
    const { changes } = catalogue;
    await gathering.done;
    const { lists } = gathering;
    if (catalogue.changes === changes) catalogue.stale.delete(kind);
    const before = catalogue.kinds[kind];
    const now = this.#options.now();
    const sources = lists.map(({ list }) => list);
    const of = { sources, missing, unlinked };
    const same = findSame(catalogue, kind, { of, wasStale, all: this.#catalogues.values() });
    if (same) {
      const renewed = { ...same, failures, late, builtAt: now, expiresAt: now + same.ttlMs };
      catalogue.kinds[kind] = renewed;
      return renewed;
    }
    const composed = composeList(this.#parts(kind, asker, { lists, unlinked }));
    for (const conflict of composed.conflicts) {
      if (!before?.conflicts.includes(conflict)) this.#options.log.warn('names collide', { kind, conflict });
    }
    const ttlMs = Math.min(DEFAULT_TTL, ...sources.map((list) => list.ttlMs ?? DEFAULT_TTL));
    const built: KindCatalogue = {
      ...composed,
      ...of,
      failures,
      late,
      builtAt: now,
      expiresAt: now + ttlMs,
      ttlMs,
      isPublic: sources.every((list) => list.isPublic),
      rendered: { byCaller: new Map(), byGroups: new Map(), groups: undefined },
    };
    catalogue.kinds[kind] = built;
    return built;
  }

  #parts(kind: ListKind, asker: Asker, made: Pick<ListParts, 'lists' | 'unlinked'>): ListParts {
    const { aggregation, maxNameLength, backends, lists: cache } = this.#options;
    return {
      kind,
      era: asker.era,
      ...made,
      apps: this.apps,
      own: this.#ownTools(),
      lastOf(name) {
        const backend = backends().find((one) => one.name === name);
        const list = backend && cache.lastOf(backend, kind, asker);
        return list && { backend, list };
      },
      aggregation: aggregation(),
      maxNameLength: maxNameLength(),
    };
  }

  #dropOldest(): void {
    let oldest: [string, Catalogue] | undefined;
    for (const entry of this.#catalogues) if (!oldest || entry[1].lastUsed < oldest[1].lastUsed) oldest = entry;
    if (!oldest) return;
    oldest[1].retired = true;
    this.#catalogues.delete(oldest[0]);
  }
}
