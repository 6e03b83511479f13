import type { RequestError } from '#runtime/errors';
import type { BackendList } from './fetch-list.ts';
import type { Gathered } from './gather-lists.ts';
import type { ListKind } from './list-kinds.ts';
import type { CatalogueEntry } from './catalogue-entry.ts';

/** One aggregated list. */
export interface KindCatalogue {
  readonly entries: readonly CatalogueEntry[];
  readonly byName: ReadonlyMap<string, CatalogueEntry>;
  /** Hidden entries that can still be resolved, by name. */
  readonly unlisted: ReadonlyMap<string, CatalogueEntry>;
  /** Backends whose list could not be fetched. */
  readonly missing: readonly string[];
  /** The failure of each backend that did not answer. */
  readonly failures: ReadonlyMap<string, RequestError>;
  /** Backends that did not answer in time, so their last list is used. */
  readonly late: readonly string[];
  /** Backends for which the caller must log in first: backend name to provider. */
  readonly unlinked: ReadonlyMap<string, string>;
  /** The lists from which this list was composed. The same lists give the same catalogue. */
  readonly sources: readonly BackendList[];
  readonly conflicts: readonly string[];
  /** Whether tools name apps. The resource lists decide which backend owns an app. */
  readonly hasApps: boolean;
  readonly builtAt: number;
  readonly expiresAt: number;
  readonly ttlMs: number;
  readonly isPublic: boolean;
  readonly rendered: RenderedLists;
}

/** Groups of list entries. Policies show a caller either all entries of a group or none. */
export interface EntryGroups {
  /** Identifies the policy sets that divide the list. */
  readonly policies: string;
  /** One entry of each group. */
  readonly samples: readonly CatalogueEntry[];
  /** Index of each entry's group. */
  readonly groupOf: readonly number[];
}

/** Bounded cache of rendered lists. */
export interface RenderedLists {
  /** Key: all attributes of the caller that policies can read. */
  readonly byCaller: Map<string, string>;
  /** Key: the visible groups. Callers who see the same entries share a text. */
  readonly byGroups: Map<string, string>;
  groups: EntryGroups | undefined;
}

/** A list that is being composed. */
export interface Building {
  readonly gathered: Gathered;
  readonly built: Promise<KindCatalogue>;
}

/** The lists that one kind of client sees. All sessions of that kind share it. */
export interface Catalogue {
  readonly kinds: Partial<Record<ListKind, KindCatalogue>>;
  readonly building: Partial<Record<ListKind, Building>>;
  /** Kinds that must be composed again before their next use. */
  readonly stale: Set<ListKind>;
  /** Increases with each change, so that a list composed during a change is not treated as current. */
  changes: number;
  lastUsed: number;
  /** Whether the catalogue is out of date for good. Its users must fetch another one. */
  retired: boolean;
}

/** Marks these lists: they must be composed again before their next use. */
export function markStale(catalogue: Catalogue, kinds: readonly ListKind[]): void {
  catalogue.changes++;
  for (const kind of kinds) catalogue.stale.add(kind);
  const { tools } = catalogue.kinds;
  if (tools?.hasApps && (kinds.includes('resources') || kinds.includes('templates'))) catalogue.stale.add('tools');
}

/** The inputs of a composed list, without the settings that all lists share. */
export type ComposedOf = Pick<KindCatalogue, 'sources' | 'missing' | 'unlinked' | 'hasApps'>;

/**
 * Returns a list that was composed earlier from the same backend lists, possibly for clients with other capabilities.
 * With `wasStale`, the list must be composed again for these clients.
 */
export function findSame(
  catalogue: Catalogue,
  kind: ListKind,
  { of, wasStale, all }: { readonly of: ComposedOf; readonly wasStale: boolean; readonly all: Iterable<Catalogue> },
): KindCatalogue | undefined {
  const before = catalogue.kinds[kind];
  if (before && !wasStale && isSame(before, of)) return before;
  // The targets of logins and apps depend on more than the lists.
  if (of.hasApps || of.unlinked.size > 0) return undefined;
  for (const other of all) {
    const built = other === catalogue || other.stale.has(kind) ? undefined : other.kinds[kind];
    if (built && !built.hasApps && isSame(built, of)) return built;
  }
  return undefined;
}

/** Returns whether composing the list again would give the same result. */
function isSame(
  before: KindCatalogue,
  { sources, missing, unlinked }: Pick<KindCatalogue, 'sources' | 'missing' | 'unlinked'>,
): boolean {
  return (
    missing.length === 0 &&
    before.missing.length === 0 &&
    sources.length === before.sources.length &&
    sources.every((list, index) => list === before.sources[index]) &&
    unlinked.size === before.unlinked.size &&
    [...unlinked.keys()].every((backend) => before.unlinked.has(backend))
  );
}
