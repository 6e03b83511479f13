import type { RequestError } from '#runtime/errors';
import type { BackendList } from './fetch-list.ts';
import type { Gathered } from './gather-lists.ts';
import type { ListKind } from './list-kinds.ts';
import type { CatalogueEntry } from './catalogue-entry.ts';

/** One aggregated list. */
export interface KindCatalogue {
  readonly entries: readonly CatalogueEntry[];
  readonly byName: ReadonlyMap<string, CatalogueEntry>;
  /** What is not shown but leads somewhere, by name. */
  readonly unlisted: ReadonlyMap<string, CatalogueEntry>;
  /** Backends whose list was not to be had. */
  readonly missing: readonly string[];
  /** Why, of each that did not answer. */
  readonly failures: ReadonlyMap<string, RequestError>;
  /** Backends whose last list stands in, as they did not answer soon. */
  readonly late: readonly string[];
  /** Backends that wait for a login of the caller's: name to provider. */
  readonly unlinked: ReadonlyMap<string, string>;
  /** The lists that it was composed from: the same lists give the same catalogue. */
  readonly sources: readonly BackendList[];
  readonly conflicts: readonly string[];
  /** Tools name apps, and whose these are is decided by the resources. */
  readonly hasApps: boolean;
  readonly builtAt: number;
  readonly expiresAt: number;
  readonly ttlMs: number;
  readonly isPublic: boolean;
  readonly rendered: RenderedLists;
}

/** Divides the entries of a list into groups: policies show a caller all entries of a group or none. */
export interface EntryGroups {
  /** Identifies the policy sets that divide the list. */
  readonly policies: string;
  /** One entry of each group. */
  readonly samples: readonly CatalogueEntry[];
  /** Index of each entry's group. */
  readonly groupOf: readonly number[];
}

/** Texts of one list as callers see it, bounded. */
export interface RenderedLists {
  /** Key: everything that policies can read of the caller. */
  readonly byCaller: Map<string, string>;
  /** Key: the visible groups. Callers who see the same entries share a text. */
  readonly byGroups: Map<string, string>;
  groups: EntryGroups | undefined;
}

/** A list that is being made. */
export interface Building {
  readonly gathered: Gathered;
  readonly built: Promise<KindCatalogue>;
}

/** What one kind of client sees; shared by all sessions that see the same. */
export interface Catalogue {
  readonly kinds: Partial<Record<ListKind, KindCatalogue>>;
  readonly building: Partial<Record<ListKind, Building>>;
  /** Kinds that must be composed again before their next use. */
  readonly stale: Set<ListKind>;
  /** Counts up whenever something becomes stale, so that what was composed meanwhile is not taken for current. */
  changes: number;
  lastUsed: number;
  /** No longer kept current: whoever holds it asks for another. */
  retired: boolean;
}

/** These lists must be composed again before their next use. */
export function markStale(catalogue: Catalogue, kinds: readonly ListKind[]): void {
  catalogue.changes++;
  for (const kind of kinds) catalogue.stale.add(kind);
  const { tools } = catalogue.kinds;
  if (tools?.hasApps && (kinds.includes('resources') || kinds.includes('templates'))) catalogue.stale.add('tools');
}

/** What a list is composed from, besides settings that are the same for all. */
export type ComposedOf = Pick<KindCatalogue, 'sources' | 'missing' | 'unlinked' | 'hasApps'>;

/**
 * Returns what was composed from the same lists before, for these clients or for others: clients that differ in their capabilities alone
 * share it. `wasStale`: it must be composed again for these clients.
 */
export function findSame(
  catalogue: Catalogue,
  kind: ListKind,
  { of, wasStale, all }: { readonly of: ComposedOf; readonly wasStale: boolean; readonly all: Iterable<Catalogue> },
): KindCatalogue | undefined {
  const before = catalogue.kinds[kind];
  if (before && !wasStale && isSame(before, of)) return before;
  // Where logins and apps lead depends on more than the lists.
  if (of.hasApps || of.unlinked.size > 0) return undefined;
  for (const other of all) {
    const built = other === catalogue || other.stale.has(kind) ? undefined : other.kinds[kind];
    if (built && !built.hasApps && isSame(built, of)) return built;
  }
  return undefined;
}

/** Composed again it would be what it was. */
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
