import { nearest } from '#crds/parts/nearest';
import type { NamedResource } from '#crds/policy/named-resources';
import { BACKEND } from '#crds/policy/vocabulary';
import type { Backend } from '#runtime/mcp/backends/backend';
import { ownNameOf } from './compose-names.ts';
import { nameSome } from './describe-conflicts.ts';
import type { BackendList } from './fetch-list.ts';
import { LIST_SPECS, type ListKind } from './list-kinds.ts';
import { presentByItself } from './present-tools.ts';

/** `isOriginal`: names of the backends, not the advertised ones. Undefined while a list is unknown. */
export type NamesOf = (kind: ListKind, isOriginal: boolean) => Iterable<string> | undefined;

interface Noun {
  readonly type: string | undefined;
  readonly noun: string;
  readonly kinds: readonly ListKind[];
  readonly isOriginal?: boolean;
}

type NamesOfKind = (kind: ListKind) => Iterable<string> | undefined;

const KINDS: readonly ListKind[] = ['tools', 'prompts', 'resources', 'templates'];

const NOUNS: readonly Noun[] = [
  { type: 'Tool', noun: 'tool', kinds: ['tools'] },
  { type: 'Prompt', noun: 'prompt', kinds: ['prompts'] },
  { type: 'Resource', noun: 'resource', kinds: ['resources', 'templates'] },
  { type: undefined, noun: 'tool, prompt or resource', kinds: KINDS },
  { type: undefined, noun: 'original name of a tool, prompt or resource', kinds: KINDS, isOriginal: true },
];
/** Unknown names that get a suggestion, and listed names that each is compared with. */
const EXPLAINED = 5;
const COMPARED = 2_000;

export function describeUnknownPolicyNames(place: string, named: readonly NamedResource[], namesOf: NamesOf): string[] {
  return NOUNS.flatMap(({ type, noun, kinds, isOriginal = false }) => {
    const ofType = named.filter((one) => one.type === type && (one.isOriginal ?? false) === isOriginal);
    const namesOfKind = (kind: ListKind) => namesOf(kind, isOriginal);
    const unlisted = findUnlisted(new Set(ofType.map(({ id }) => id)), kinds, namesOfKind);
    const unknown = ofType.filter(({ id }) => unlisted.has(id));
    if (unknown.length === 0) return [];
    const listed = firstNames(kinds, namesOfKind);
    return [`${place} names no ${noun} that is listed: ${nameSome(sayUnknown(unknown, listed))}; correct or remove it`];
  });
}

export function describeUnknownBackends(
  place: string,
  named: readonly NamedResource[],
  backends: readonly string[],
): string[] {
  const known = new Set(backends);
  const unknown = named.filter(({ type, id }) => type === BACKEND && !known.has(id));
  if (unknown.length === 0) return [];
  const said = sayUnknown(unknown, backends.slice(0, COMPARED));
  return [
    `${place} names no backend of this endpoint: ${nameSome(said)}; correct the name, unless the backend is left out for now`,
  ];
}

function sayUnknown(unknown: readonly NamedResource[], listed: readonly string[]): string[] {
  return unknown.map(({ id, policy }, index) => {
    const near = index < EXPLAINED ? (nearest(id, listed) ?? sameWithoutPrefix(id, listed)) : undefined;
    return `"${id}" in ${policy}${near === undefined ? '' : ` (did you mean "${near}"?)`}`;
  });
}

/** Server policies often omit a tool's prefix, and backend policies often include it. */
function sameWithoutPrefix(id: string, listed: readonly string[]): string | undefined {
  return listed.find((name) => hasPrefix(name, id) || hasPrefix(id, name));
}

function hasPrefix(whole: string, name: string): boolean {
  return whole.endsWith(name) && /[^a-z0-9]/i.test(whole.charAt(whole.length - name.length - 1));
}

const NONE: ReadonlySet<string> = new Set();

/** Empty while a list is unknown. A URI that starts like a template counts as listed. */
function findUnlisted(ids: Set<string>, kinds: readonly ListKind[], namesOf: NamesOfKind): ReadonlySet<string> {
  for (const kind of kinds) {
    if (ids.size === 0) break;
    const names = namesOf(kind);
    if (names === undefined) return NONE;
    for (const name of names) {
      if (kind === 'templates') removeBegun(ids, name);
      else ids.delete(name);
      if (ids.size === 0) break;
    }
  }
  return ids;
}

function removeBegun(ids: Set<string>, template: string): void {
  const beginning = template.split('{', 1)[0] ?? '';
  for (const id of ids) if (id.startsWith(beginning)) ids.delete(id);
}

function firstNames(kinds: readonly ListKind[], namesOf: NamesOfKind): readonly string[] {
  const first = new Set<string>();
  for (const kind of kinds) {
    if (kind === 'templates') continue;
    for (const name of namesOf(kind) ?? []) {
      if (first.size >= COMPARED) return [...first];
      first.add(name);
    }
  }
  return [...first];
}

export function describeUnknownOwnNames(
  backend: Pick<Backend, 'name' | 'config' | 'authorizer' | 'health'>,
  listsOf: (kind: ListKind) => readonly BackendList[],
): string[] {
  const { name, authorizer, health } = backend;
  if (authorizer === undefined) return [];
  const place = `authzConfig of ${name}`;
  const unlisted = describeUnknownPolicyNames(place, authorizer.names, (kind, isOriginal) => {
    const lists = listsOf(kind);
    if (lists.length > 0) return ownNames(kind, lists, backend, isOriginal);
    return health.capabilities?.[LIST_SPECS[kind].capability] === false ? [] : undefined;
  });
  return [...describeUnknownBackends(place, authorizer.names, [name]), ...unlisted];
}

function* ownNames(
  kind: ListKind,
  lists: readonly BackendList[],
  { config }: Pick<Backend, 'config'>,
  isOriginal: boolean,
): Generator<string> {
  for (const { entries } of lists) {
    for (const entry of entries) {
      const name = kind === 'tools' ? presentByItself(config, entry)?.name : entry.name;
      if (name === undefined) continue;
      if (isOriginal) yield entry.name;
      else yield kind === 'tools' || kind === 'prompts' ? ownNameOf(name) : name;
    }
  }
}
