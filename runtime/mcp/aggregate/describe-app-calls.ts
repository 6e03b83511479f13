import { appsOf, isForApps } from './app-references.ts';
import type { CatalogueEntry } from './catalogue-entry.ts';
import { nameSome } from './describe-conflicts.ts';
import type { ListedEntry } from './fetch-list.ts';

interface ListedTools {
  readonly backend: { readonly name: string };
  readonly list: { readonly entries: readonly ListedEntry[] };
}

const REMEDY = 'set aggregation.apps.rewriteCalls';

/**
 * Describes calls of apps that cannot reach their own backend: hosts forward them with the backend's own name, and nothing
 * in them identifies the app. `offered`: the advertised tools.
 */
export function describeAppCalls(lists: readonly ListedTools[], offered: readonly CatalogueEntry[]): string[] {
  const withApps = lists.filter(({ list }) => list.entries.some(({ text }) => appsOf(text).length > 0));
  if (withApps.length === 0) return [];
  const byName = new Map(offered.map((entry) => [entry.name, entry]));
  const owners = ownersOf(offered);
  const refused = new Set<string>();
  const misled = new Map<string, string[]>();
  for (const { backend, list } of withApps)
    for (const { name, text } of list.entries) {
      const equal = byName.get(name)?.backend;
      if (equal === backend.name || !isForApps(text)) continue;
      if (equal !== undefined)
        add(misled, `${backend.name} that call a tool of their own reach ${equal} instead`, name);
      else if ((owners.get(name)?.length ?? 0) > 1) refused.add(name);
    }
  return [
    ...[...misled].map(([whose, names]) => `apps of ${whose}: ${nameSome(names)}; ${REMEDY}`),
    ...(refused.size === 0
      ? []
      : [`apps: calls of tools that several backends have are refused: ${nameSome([...refused])}; ${REMEDY}`]),
  ];
}

function ownersOf(offered: readonly CatalogueEntry[]): ReadonlyMap<string, readonly string[]> {
  const owners = new Map<string, string[]>();
  for (const { originalName, backend } of offered) add(owners, originalName, backend);
  return owners;
}

function add(values: Map<string, string[]>, key: string, value: string): void {
  const known = values.get(key);
  if (known) known.push(value);
  else values.set(key, [value]);
}

/** Describes apps that clients see at another URI than their backend's. */
export function describeRenamed(renamed: readonly (readonly [backend: string, uris: readonly string[]])[]): string[] {
  return renamed.map(
    ([backend, uris]) =>
      `apps of ${backend} have URIs of another backend, so clients get them at ui://${backend}.…: ${nameSome(uris)}; give them other URIs`,
  );
}
