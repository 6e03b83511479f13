import type { Aggregation } from '#crds/run-config/aggregation';
import type { Backend } from '#runtime/mcp/backends/backend';
import type { AppUris } from './app-uris.ts';
import type { CatalogueEntry } from './catalogue-entry.ts';
import type { NamedList } from './compose-names.ts';
import { composeToMap, decideName, type AwaitedList, type DecidedName } from './decide-name.ts';
import type { BackendList } from './fetch-list.ts';
import type { ListKind } from './list-kinds.ts';

interface GatheringOptions {
  readonly kind: ListKind;
  /** In configuration order. */
  readonly asked: readonly Backend[];
  /** Ends within the deadline. Rejects if the list cannot be fetched. */
  readonly fetch: (backend: Backend) => BackendList | Promise<BackendList>;
  readonly missed: (backend: Backend, error: unknown) => void;
  readonly aggregation: Aggregation;
  readonly maxNameLength: number;
  readonly apps: AppUris;
}

/** Collects the lists of several backends and decides names before the last list arrives. */
export class Gathering {
  readonly done: Promise<void>;
  readonly #options: GatheringOptions;
  /** Undefined: the list could not be fetched. */
  readonly #lists = new Map<Backend, BackendList | undefined>();
  readonly #composed = new Map<string, ReadonlyMap<string, CatalogueEntry>>();
  readonly #waiting = new Set<() => void>();

  constructor(options: GatheringOptions) {
    this.#options = options;
    this.done = Promise.all(options.asked.map((backend) => this.#take(backend))).then(() => undefined);
  }

  get lists(): { backend: Backend; list: BackendList }[] {
    return this.#options.asked.flatMap((backend) => {
      const list = this.#lists.get(backend);
      return list ? [{ backend, list }] : [];
    });
  }

  /** Returns as soon as the name is decided. Undefined: all lists must be composed first. */
  async decide(name: string): Promise<DecidedName | undefined> {
    while (this.#lists.size < this.#options.asked.length) {
      const decided = this.#decideNow(name);
      if (decided) return decided;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
    return undefined;
  }

  #decideNow(name: string): DecidedName | undefined {
    const { kind, asked, aggregation, maxNameLength, apps } = this.#options;
    const awaited = asked.flatMap((backend): AwaitedList[] => {
      const list = this.#lists.get(backend);
      if (list === undefined && this.#lists.has(backend)) return [];
      return [{ backend: backend.config, entries: list?.entries, apps }];
    });
    return decideName(kind, name, awaited, aggregation, maxNameLength, (lists) => this.#compose(lists));
  }

  #compose(lists: readonly NamedList[]): ReadonlyMap<string, CatalogueEntry> {
    const { kind, aggregation, maxNameLength } = this.#options;
    const key = lists.map(({ backend }) => backend.name).join('\n');
    const known = this.#composed.get(key) ?? composeToMap(kind, lists, aggregation, maxNameLength);
    this.#composed.set(key, known);
    return known;
  }

  async #take(backend: Backend): Promise<void> {
    try {
      const list = this.#options.fetch(backend);
      this.#lists.set(backend, list instanceof Promise ? await list : list);
    } catch (error) {
      this.#lists.set(backend, undefined);
      this.#options.missed(backend, error);
    }
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const look of waiting) look();
  }
}
