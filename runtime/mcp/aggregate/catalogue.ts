import type { RequestError } from '#runtime/errors';
import type { BackendList } from './fetch-list.ts';
import type { Gathered } from './gather-lists.ts';
import type { ListKind } from './list-kinds.ts';
import type { CatalogueEntry } from './catalogue-entry.ts';

export interface KindCatalogue {
  readonly entries: readonly CatalogueEntry[];
  readonly byName: ReadonlyMap<string, CatalogueEntry>;
  readonly unlisted: ReadonlyMap<string, CatalogueEntry>;
  readonly missing: readonly string[];
  readonly failures: ReadonlyMap<string, RequestError>;
  /** Backends that did not answer in time, so their last list is used. */
  readonly late: readonly string[];
  /** Backends that require a login first: backend name to provider. */
  readonly unlinked: ReadonlyMap<string, string>;
  /** The backends' lists. The same lists give the same catalogue. */
  readonly sources: readonly BackendList[];
  readonly conflicts: readonly string[];
  readonly builtAt: number;
  readonly expiresAt: number;
  readonly ttlMs: number;
  readonly isPublic: boolean;
  readonly rendered: RenderedLists;
}

/** Policies show a caller either all entries of a group or none. */
export interface EntryGroups {
  readonly policies: string;
  readonly samples: readonly CatalogueEntry[];
  readonly groupOf: readonly number[];
}

export interface RenderedLists {
  /** Key: all attributes of the caller that policies can read. */
  readonly byCaller: Map<string, string>;
  /** Key: the visible groups. Callers who see the same entries share a text. */
  readonly byGroups: Map<string, string>;
  groups: EntryGroups | undefined;
}

export interface Building {
  readonly gathered: Gathered;
  readonly built: Promise<KindCatalogue>;
}

export interface Catalogue {
  readonly kinds: Partial<Record<ListKind, KindCatalogue>>;
  readonly building: Partial<Record<ListKind, Building>>;
  readonly stale: Set<ListKind>;
  /** Increases with each change, so that a list composed during a change is not treated as current. */
  changes: number;
  lastUsed: number;
  retired: boolean;
}

export function markStale(catalogue: Catalogue, kinds: readonly ListKind[]): void {
  catalogue.changes++;
  for (const kind of kinds) catalogue.stale.add(kind);
}

export type ComposedOf = Pick<KindCatalogue, 'sources' | 'missing' | 'unlinked'>;

/** Returns an earlier list of the same backend lists. With `wasStale`, it must be composed again for these clients. */
export function findSame(
  catalogue: Catalogue,
  kind: ListKind,
  { of, wasStale, all }: { readonly of: ComposedOf; readonly wasStale: boolean; readonly all: Iterable<Catalogue> },
): KindCatalogue | undefined {
  const before = catalogue.kinds[kind];
  if (before && !wasStale && isSame(before, of)) return before;
  // The targets of logins depend on more than the lists.
  if (of.unlinked.size > 0) return undefined;
  for (const other of all) {
    const built = other === catalogue || other.stale.has(kind) ? undefined : other.kinds[kind];
    if (built && isSame(built, of)) return built;
  }
  return undefined;
}

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
