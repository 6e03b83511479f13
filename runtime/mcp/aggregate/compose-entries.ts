import type { Aggregation } from '#crds/run-config/aggregation';
import type { CatalogueEntry } from './catalogue.ts';
import { composeNames, type NameConflict } from './compose-names.ts';
import type { BackendList } from './fetch-list.ts';
import type { ListKind } from './list-kinds.ts';
import type { ToolSettings } from './present-tools.ts';

/** What an administrator reads about names that were dropped, and what to do. */
function describeConflict({ name, pairs }: NameConflict): string {
  const all = pairs.map(({ backend, originalName }) => `${originalName} of ${backend}`).join(', ');
  return `${name} is dropped, as it stands for ${all}: rename one of them by an override`;
}

/** One list of all backends, which stand in the order of the configuration, and what was dropped from it. */
export function composeEntries(
  kind: ListKind,
  lists: readonly { readonly backend: { readonly config: ToolSettings }; readonly list: BackendList }[],
  aggregation: Aggregation,
  maxNameLength: number,
): { entries: readonly CatalogueEntry[]; conflicts: readonly string[] } {
  const named = lists.map(({ backend, list }) => ({ backend: backend.config, entries: list.entries }));
  const { entries, conflicts } = composeNames(kind, named, aggregation, maxNameLength);
  return { entries, conflicts: conflicts.map(describeConflict) };
}
