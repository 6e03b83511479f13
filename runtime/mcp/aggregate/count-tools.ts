import type { Backend } from '#runtime/mcp/backends/backend';
import type { Catalogue } from './catalogue.ts';
import type { CatalogueEntry } from './catalogue-entry.ts';

/** Counts backends that list the same for all users. Null while no list is composed. */
export function countTools(catalogues: readonly Catalogue[], backends: readonly Backend[]): number | null {
  const perUser = new Set(backends.flatMap(({ name, credential }) => (credential.perUser ? name : [])));
  const isForAll = ({ connects, backend }: CatalogueEntry) => connects === undefined && !perUser.has(backend);
  const counts = catalogues.flatMap(({ kinds }) => (kinds.tools ? kinds.tools.entries.filter(isForAll).length : []));
  return counts.length === 0 ? null : Math.max(...counts);
}
