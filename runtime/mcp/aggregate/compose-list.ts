import type { Aggregation } from '#crds/run-config/aggregation';
import type { Backend } from '#runtime/mcp/backends/backend';
import { offersTasks } from '../backends/health.ts';
import type { Era } from '../era.ts';
import type { CatalogueEntry } from './catalogue-entry.ts';
import type { AppUris } from './app-uris.ts';
import { describeAppCalls } from './describe-app-calls.ts';
import { composeNames } from './compose-names.ts';
import { describeConflict, describeShadowed, describeTaken } from './describe-conflicts.ts';
import type { BackendList } from './fetch-list.ts';
import type { ListKind } from './list-kinds.ts';

interface ListOf {
  readonly backend: Backend;
  readonly list: BackendList;
}

export interface ListParts {
  readonly kind: ListKind;
  readonly era: Era;
  readonly lists: readonly ListOf[];
  readonly own: ReadonlyMap<string, CatalogueEntry>;
  /** Backends that require a login first: backend name to provider. */
  readonly unlinked: ReadonlyMap<string, string>;
  readonly lastOf: (backend: string) => ListOf | undefined;
  readonly apps: AppUris;
  readonly aggregation: Aggregation;
  readonly maxNameLength: number;
}

interface ComposedList {
  readonly entries: readonly CatalogueEntry[];
  readonly byName: ReadonlyMap<string, CatalogueEntry>;
  /** Hidden, but resolved: a caller may remember them from before its login expired. */
  readonly unlisted: ReadonlyMap<string, CatalogueEntry>;
  readonly conflicts: readonly string[];
}

const NONE: ReadonlyMap<string, CatalogueEntry> = new Map();

export function composeList(parts: ListParts): ComposedList {
  const { kind, lists, own, unlinked } = parts;
  const composed = compose(parts, lists);
  const rewritesCalls = parts.aggregation.apps?.rewrite_calls === true;
  const needed = new Set(unlinked.values());
  const standing = kind === 'tools' ? [...own.values()].filter(({ connects = '' }) => needed.has(connects)) : [];
  const taken = kind === 'tools' ? composed.entries.filter(({ name }) => own.has(name)) : [];
  const kept = composed.entries.filter((entry) => !taken.includes(entry));
  const entries = [...kept, ...standing];
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  return {
    entries,
    byName,
    unlisted: unlinked.size === 0 ? NONE : findUnlisted(parts, byName),
    conflicts: [
      ...composed.conflicts.map((conflict) => describeConflict(kind, conflict)),
      ...describeShadowed(kind, composed.shadowed),
      ...taken.map(describeTaken),
      ...(kind === 'tools' && !rewritesCalls ? describeAppCalls(lists, composed.entries) : []),
    ],
  };
}

function compose({ kind, era, apps, aggregation, maxNameLength }: ListParts, lists: readonly ListOf[]) {
  const named = lists.map(({ backend, list }) => ({
    backend: backend.config,
    entries: list.entries,
    apps,
    hasTasks: era === 'legacy' && offersTasks(backend.health, era),
  }));
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
