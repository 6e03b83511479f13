import type { Aggregation } from '#crds/run-config/aggregation';
import type { Backend } from '#runtime/mcp/backends/backend';
import type { CatalogueEntry } from './catalogue.ts';
import { composeNames, type NameConflict } from './compose-names.ts';
import type { BackendList } from './fetch-list.ts';
import type { ListKind } from './list-kinds.ts';

interface ListOf {
  readonly backend: Backend;
  readonly list: BackendList;
}

/** What a list is made of. */
export interface ListParts {
  readonly kind: ListKind;
  readonly lists: readonly ListOf[];
  /** The gateway's own tools. */
  readonly own: ReadonlyMap<string, CatalogueEntry>;
  /** Backends that wait for a login of the caller's: name to provider. */
  readonly unlinked: ReadonlyMap<string, string>;
  /** The last list of such a backend that this caller got, if there is one. */
  readonly lastOf: (backend: string) => ListOf | undefined;
  readonly aggregation: Aggregation;
  readonly maxNameLength: number;
}

interface ComposedList {
  readonly entries: readonly CatalogueEntry[];
  readonly byName: ReadonlyMap<string, CatalogueEntry>;
  /** Entries that are not shown but lead somewhere: what a caller may remember of a backend that now waits for a login. */
  readonly unlisted: ReadonlyMap<string, CatalogueEntry>;
  readonly conflicts: readonly string[];
}

const NONE: ReadonlyMap<string, CatalogueEntry> = new Map();

/** One list of all backends. For those that wait for a login, the gateway's own tools stand. */
export function composeList(parts: ListParts): ComposedList {
  const { kind, lists, own, unlinked } = parts;
  const composed = compose(parts, lists);
  const needed = new Set(unlinked.values());
  const standing = kind === 'tools' ? [...own.values()].filter(({ connects = '' }) => needed.has(connects)) : [];
  const taken = kind === 'tools' ? composed.entries.filter(({ name }) => own.has(name)) : [];
  const entries = [...composed.entries.filter((entry) => !taken.includes(entry)), ...standing];
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  return {
    entries,
    byName,
    unlisted: unlinked.size === 0 ? NONE : findUnlisted(parts, byName),
    conflicts: [...composed.conflicts.map((conflict) => describeConflict(kind, conflict)), ...taken.map(describeTaken)],
  };
}

function compose({ kind, aggregation, maxNameLength }: ListParts, lists: readonly ListOf[]) {
  const named = lists.map(({ backend, list }) => ({ backend: backend.config, entries: list.entries }));
  return composeNames(kind, named, aggregation, maxNameLength);
}

function findUnlisted(
  parts: ListParts,
  shown: ReadonlyMap<string, CatalogueEntry>,
): ReadonlyMap<string, CatalogueEntry> {
  const { lists, unlinked, own, lastOf } = parts;
  const last = [...unlinked.keys()].flatMap((backend) => lastOf(backend) ?? []);
  if (last.length === 0) return NONE;
  const hidden = compose(parts, [...lists, ...last]).entries.filter(
    ({ backend, name }) => unlinked.has(backend) && !shown.has(name) && !own.has(name),
  );
  return new Map(hidden.map((entry) => [entry.name, entry]));
}

function describeConflict(kind: ListKind, { name, pairs }: NameConflict): string {
  const owners = pairs.map(({ backend, originalName }) => `${originalName} of ${backend}`).join(' and ');
  return `${kind} ${name}: ${owners} would have the same name, so none of them is advertised; override a name`;
}

function describeTaken({ name, backend, originalName }: CatalogueEntry): string {
  return `tools ${name}: ${originalName} of ${backend} would have the name of a tool of the gateway's own, so it is not advertised; override its name`;
}
