import type { Aggregation } from '#crds/run-config/aggregation';
import type { RequestError } from '#runtime/errors';
import type { CatalogueEntry } from './catalogue-entry.ts';
import { prefixOf } from './compose-names.ts';
import { couldHave } from './decide-name.ts';
import type { ListKind } from './list-kinds.ts';

/** Only a backend with a failed list may have the name. An unknown-name error would blame the caller. */
export function nameThatFailed(
  kind: ListKind,
  name: string,
  failures: ReadonlyMap<string, RequestError>,
  { aggregation, maxNameLength }: { readonly aggregation: Aggregation; readonly maxNameLength: number },
): CatalogueEntry | undefined {
  if (kind !== 'tools' && kind !== 'prompts') return undefined;
  for (const [backend, failure] of failures) {
    if (!couldHave(name, backend, aggregation, maxNameLength)) continue;
    const prefix = prefixOf(backend, aggregation);
    const originalName = name.startsWith(prefix) ? name.slice(prefix.length) : name;
    const own = { name: originalName, backend, originalName };
    return { name, backend, originalName, text: '', annotations: undefined, own, failure };
  }
  return undefined;
}
