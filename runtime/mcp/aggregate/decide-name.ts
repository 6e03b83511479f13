import type { Aggregation } from '#crds/run-config/aggregation';
import { composeNames, NAME_ENDING, prefixOf, rankOf, type NamedList } from './compose-names.ts';
import type { AppUris } from './app-uris.ts';
import type { CatalogueEntry } from './catalogue-entry.ts';
import type { ListedEntry } from './fetch-list.ts';
import type { ListKind } from './list-kinds.ts';
import type { ToolSettings } from './present-tools.ts';

export interface AwaitedList {
  readonly backend: ToolSettings;
  readonly entries: readonly ListedEntry[] | undefined;
  readonly apps?: AppUris;
}

/** Pending lists cannot change it. Without an entry, no backend has the name. */
export interface DecidedName {
  readonly entry: CatalogueEntry | undefined;
}

type Compose = (lists: readonly NamedList[]) => ReadonlyMap<string, CatalogueEntry>;

/** Undefined: more lists are needed. `lists`: in configuration order. `compose` may cache its results. */
export function decideName(
  kind: ListKind,
  name: string,
  lists: readonly AwaitedList[],
  aggregation: Aggregation,
  maxNameLength: number,
  compose: Compose = (some) => composeToMap(kind, some, aggregation, maxNameLength),
): DecidedName | undefined {
  if (isRanked(kind, aggregation)) return decideByRank(name, lists, aggregation, compose);
  const concerned = lists.filter(({ backend }) => couldHave(name, backend.name, aggregation, maxNameLength));
  const there = concerned.filter(isThere);
  return there.length === concerned.length ? { entry: compose(there).get(name) } : undefined;
}

export function composeToMap(
  kind: ListKind,
  lists: readonly NamedList[],
  aggregation: Aggregation,
  maxNameLength: number,
): ReadonlyMap<string, CatalogueEntry> {
  return new Map(composeNames(kind, lists, aggregation, maxNameLength).entries.map((entry) => [entry.name, entry]));
}

function isRanked(kind: ListKind, { conflict_resolution: strategy }: Aggregation): boolean {
  return kind === 'resources' || kind === 'templates' || strategy === 'priority';
}

/** Backends that rank after the owner of a name cannot change the result. */
function decideByRank(
  name: string,
  lists: readonly AwaitedList[],
  aggregation: Aggregation,
  compose: Compose,
): DecidedName | undefined {
  const rank = rankOf(lists, aggregation);
  const ordered = lists.toSorted((a, b) => rank(a.backend.name) - rank(b.backend.name));
  const missing = ordered.findIndex((list) => !isThere(list));
  const first = (missing < 0 ? ordered : ordered.slice(0, missing)).filter(isThere);
  const entry = first.length === 0 ? undefined : compose(first).get(name);
  return entry !== undefined || missing < 0 ? { entry } : undefined;
}

/** Under prefixes, few backends could. */
export function couldHave(name: string, backend: string, aggregation: Aggregation, maxNameLength: number): boolean {
  if (aggregation.conflict_resolution !== 'prefix' || aggregation.prefix_mode !== 'always') return true;
  // A shortened name keeps only its beginning.
  return name.startsWith(prefixOf(backend, aggregation).slice(0, Math.max(0, maxNameLength - NAME_ENDING)));
}

function isThere(list: AwaitedList): list is NamedList {
  return list.entries !== undefined;
}
