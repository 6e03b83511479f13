import { createHash } from 'node:crypto';
import { DEFAULTS } from '#crds/parts/defaults';
import type { Aggregation } from '#crds/run-config/aggregation';
import { isJsonObject } from '#runtime/mcp/envelope/decode-request';
import type { PolicyResource } from '#runtime/policy/authorizer';
import { appsOf, replaceApps, withoutApps } from './app-references.ts';
import type { AppUris } from './app-uris.ts';
import type { CatalogueEntry } from './catalogue-entry.ts';
import type { ListedEntry } from './fetch-list.ts';
import type { ListKind } from './list-kinds.ts';
import { presentPrompts, presentTools, type Presented, type ToolSettings } from './present-tools.ts';
import { rewriteEntry } from './rewrite-entry.ts';

export interface NamedList {
  readonly backend: ToolSettings;
  readonly entries: readonly ListedEntry[];
  /** Absent: every app keeps its URI. */
  readonly apps?: AppUris;
  /** Whether the client can request tasks of 2025-11-25 from the tools. */
  readonly hasTasks?: boolean;
}

export interface NameConflict {
  readonly name: string;
  readonly pairs: readonly { readonly backend: string; readonly originalName: string }[];
}

/** Dropped because another backend has the same URI. */
export interface ShadowedUri {
  readonly uri: string;
  readonly winner: string;
  readonly loser: string;
}

export interface Composed {
  readonly entries: readonly CatalogueEntry[];
  readonly conflicts: readonly NameConflict[];
  readonly shadowed: readonly ShadowedUri[];
}

interface Candidate extends Presented {
  readonly advertised: string;
}

const HASH_DIGITS = 8;
/** Maximum characters lost by shortening: the hash, its separator, and half of a surrogate pair. */
export const NAME_ENDING = HASH_DIGITS + 2;

/** The hash of the whole name replaces its end, and is the same after each restart. */
export function shorten(name: string, maxLength: number): string {
  if (name.length <= maxLength) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_DIGITS);
  const kept = name.slice(0, maxLength - HASH_DIGITS - 1);
  // The cut must not split a surrogate pair.
  return `${kept.isWellFormed() ? kept : kept.slice(0, -1)}_${hash}`;
}

/** The name at the backend's own endpoint, with the default limits. */
export function ownNameOf(name: string): string {
  return shorten(name, DEFAULTS.maxNameLength);
}

function countNames(presented: readonly Presented[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { name } of presented) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** The replacement is a function because `$` has a meaning in replacement text. */
export function prefixOf(backend: string, { prefix_format: format }: Aggregation): string {
  return format.replaceAll('{workload}', () => backend);
}

/** Only `onConflict` considers other entries. */
function nameWith(aggregation: Aggregation, presented: readonly Presented[]): (entry: Presented) => string {
  if (aggregation.conflict_resolution !== 'prefix') return ({ name }) => name;
  const prefixed = ({ backend, name }: Presented) => prefixOf(backend, aggregation) + name;
  if (aggregation.prefix_mode === 'always') return prefixed;
  const counts = countNames(presented);
  return (entry) => (counts.get(entry.name) === 1 ? entry.name : prefixed(entry));
}

/** A smaller rank wins: first by an active priority order, then by `lists`, in configuration order. */
export function rankOf(
  lists: readonly Pick<NamedList, 'backend'>[],
  aggregation: Aggregation,
): (backend: string) => number {
  const order = aggregation.conflict_resolution === 'priority' ? aggregation.priority_order : [];
  const ranks = new Map<string, number>();
  for (const name of [...order, ...lists.map(({ backend }) => backend.name)])
    if (!ranks.has(name)) ranks.set(name, ranks.size);
  return (backend) => ranks.get(backend) ?? ranks.size;
}

function oncePerName(entries: readonly ListedEntry[]): ListedEntry[] {
  const seen = new Set<string>();
  return entries.filter(({ name }) => !seen.has(name) && seen.add(name));
}

function groupByName(candidates: readonly Candidate[]): Map<string, Candidate[]> {
  const groups = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const group = groups.get(candidate.advertised);
    if (group) group.push(candidate);
    else groups.set(candidate.advertised, [candidate]);
  }
  return groups;
}

function toEntry(candidate: Candidate): CatalogueEntry {
  const { advertised, backend, listed, changes } = candidate;
  const isChanged = advertised !== listed.name || Object.keys(changes).length > 0;
  const text = isChanged ? rewriteEntry(listed.text, { ...changes, name: advertised }) : listed.text;
  const apps = appsOf(text);
  return {
    name: advertised,
    backend,
    originalName: listed.ownUri ?? listed.name,
    text,
    annotations: changes.annotations ? { ...listed.annotations, ...hintsOf(changes.annotations) } : listed.annotations,
    own: ownResource(candidate),
    ...(apps.length > 0 && { apps }),
  };
}

/** The hints of the aggregation do not apply at the backend's own endpoint. */
function ownResource({ advertised, ownName, backend, listed, changes }: Candidate): PolicyResource | undefined {
  const { ownUri } = listed;
  if (ownUri !== undefined) return { name: ownUri, backend, originalName: ownUri, annotations: listed.annotations };
  if (ownName === undefined || (ownName === advertised && changes.annotations === undefined)) return undefined;
  return { name: ownName, backend, originalName: listed.name, annotations: listed.annotations };
}

/** The gateway does not route tasks of this client to this backend. */
function withoutTaskSupport(presented: Presented): Presented {
  const { listed, changes } = presented;
  const tool: unknown = listed.text.includes('"taskSupport"') ? JSON.parse(listed.text) : undefined;
  if (!isJsonObject(tool) || !isJsonObject(tool.execution)) return presented;
  const others = Object.entries(tool.execution).filter(([key]) => key !== 'taskSupport');
  return { ...presented, changes: { ...changes, execution: Object.fromEntries(others) } };
}

function hintsOf(annotations: Readonly<Record<string, unknown>>): Record<string, string | boolean> {
  return Object.fromEntries(
    Object.entries(annotations).filter(
      (hint): hint is [string, string | boolean] => typeof hint[1] === 'boolean' || typeof hint[1] === 'string',
    ),
  );
}

function composeNamed(
  presented: readonly Presented[],
  aggregation: Aggregation,
  maxNameLength: number,
  rank: (backend: string) => number,
): Composed {
  const nameOf = nameWith(aggregation, presented);
  const candidates = presented.map((entry) => ({
    ...entry,
    advertised: shorten(nameOf(entry), maxNameLength),
    ownName: entry.ownName === undefined ? undefined : ownNameOf(entry.ownName),
  }));
  const dropped = new Set<Candidate>();
  const conflicts: NameConflict[] = [];
  for (const [name, group] of groupByName(candidates)) {
    if (group.length === 1) continue;
    const ordered = group.toSorted(
      (a, b) => rank(a.backend) - rank(b.backend) || (a.listed.name < b.listed.name ? -1 : 1),
    );
    const isDecided = aggregation.conflict_resolution === 'priority';
    for (const loser of isDecided ? ordered.slice(1) : ordered) dropped.add(loser);
    if (!isDecided)
      conflicts.push({ name, pairs: ordered.map(({ backend, listed }) => ({ backend, originalName: listed.name })) });
  }
  return { entries: candidates.filter((one) => !dropped.has(one)).map(toEntry), conflicts, shadowed: [] };
}

/** The first backend that lists a URI owns it. */
function composeUris(presented: readonly Presented[], rank: (backend: string) => number): Composed {
  const first = new Map<string, Presented>();
  for (const entry of presented) {
    const before = first.get(entry.name);
    if (!before || rank(entry.backend) < rank(before.backend)) first.set(entry.name, entry);
  }
  const entries: CatalogueEntry[] = [];
  const shadowed: ShadowedUri[] = [];
  for (const entry of presented) {
    const winner = first.get(entry.name);
    if (winner === entry || !winner) entries.push(toEntry({ ...entry, advertised: entry.name }));
    else shadowed.push({ uri: entry.name, winner: winner.backend, loser: entry.backend });
  }
  return { entries, conflicts: [], shadowed };
}

function presentUris({ name: backend }: ToolSettings, entries: readonly ListedEntry[]): Presented[] {
  return entries.map((listed) => ({ backend, listed, name: listed.name, ownName: undefined, changes: {} }));
}

const present = { tools: presentTools, prompts: presentPrompts, resources: presentUris, templates: presentUris };

const NO_ALIASES: ReadonlyMap<string, string> = new Map();

/** Gives the apps of a backend the URIs that clients see. */
function withAliases(kind: ListKind, { backend, entries, apps }: NamedList): readonly ListedEntry[] {
  if (!apps || kind === 'prompts' || kind === 'templates') return entries;
  const aliases = apps.aliasesOf(backend.name)?.toAlias ?? NO_ALIASES;
  return entries.map((entry) => {
    if (!entry.text.includes('ui:')) return entry;
    if (kind === 'tools' && !appsOf(entry.text).every((uri) => apps.isKnown(uri, backend.name)))
      return { ...entry, text: withoutApps(entry.text) };
    const text = aliases.size === 0 ? entry.text : replaceApps(entry.text, aliases);
    const alias = kind === 'resources' ? aliases.get(entry.name) : undefined;
    return alias === undefined ? { ...entry, text } : { ...entry, text, name: alias, ownUri: entry.name };
  });
}

/**
 * Composes one list of all backends. `lists` is in the order of the configuration. The advertised name of a (backend,
 * name) pair depends only on the configuration and that pair, except under `prefix_mode: onConflict`. Other entries
 * only decide whether the pair is advertised.
 */
export function composeNames(
  kind: ListKind,
  lists: readonly NamedList[],
  aggregation: Aggregation,
  maxNameLength: number,
): Composed {
  const rank = rankOf(lists, aggregation);
  const presented = lists.flatMap((list) => {
    const all = present[kind](list.backend, oncePerName(withAliases(kind, list)), aggregation);
    return list.hasTasks ? all : all.map(withoutTaskSupport);
  });
  return kind === 'tools' || kind === 'prompts'
    ? composeNamed(presented, aggregation, maxNameLength, rank)
    : composeUris(presented, rank);
}
