import { withoutApps } from '../aggregate/app-references.ts';
import type { Asker } from '../aggregate/asker.ts';
import type { CatalogueEntry } from '../aggregate/catalogue-entry.ts';
import type { EntryGroups, KindCatalogue } from '../aggregate/catalogue.ts';
import { LIST_SPECS, type ListKind } from '../aggregate/list-kinds.ts';
import type { PolicyServices } from './policy-services.ts';
import { actions, entryOfApp, isVisible } from './resolve-target.ts';

const MAX_RENDERED = 256;
/** Each group takes some 0.3 ms. */
const MAX_WARMED = 8;

type Caller = Pick<Asker, 'identity'>;
type List = Pick<KindCatalogue, 'entries' | 'rendered'>;

/** Attributes may differ between two tokens of one user. Without policies all callers see the same list. */
function viewOf({ identity }: Caller, { config, backends }: PolicyServices, policies: string): string {
  if (config.authz === undefined && backends.all.every((backend) => backend.authorizer === undefined)) return '';
  const { key, groups, claims, clientId, scopes } = identity;
  return `${policies}\n${JSON.stringify([key, groups, claims, clientId, scopes])}`;
}

/** A reload can change each policy set alone. */
function policiesOf({ authorizer, backends }: PolicyServices): string {
  return [authorizer, ...backends.all.map((backend) => backend.authorizer)].map((each) => each?.id ?? '').join(' ');
}

/** Returns JSON text, and caches it. */
export function renderEntries(kind: ListKind, list: List, asker: Caller, services: PolicyServices): string {
  const { byCaller, byGroups } = list.rendered;
  const policies = policiesOf(services);
  const key = viewOf(asker, services, policies);
  const known = byCaller.get(key);
  if (known !== undefined) return known;
  const groups = groupsOf(list, services, policies);
  const shown = groups.samples.map((entry) => shownAs(kind, entry, asker, services));
  const set = `${policies}\n${shown.join('')}`;
  const text = byGroups.get(set) ?? textOf(kind, list, (index) => shown[groups.groupOf[index] ?? -1] ?? HIDDEN);
  if (byCaller.size >= MAX_RENDERED) {
    byCaller.clear();
    byGroups.clear();
  }
  byCaller.set(key, text);
  byGroups.set(set, text);
  return text;
}

export function prepareEntries(kind: ListKind, list: List, services: PolicyServices): void {
  const policies = policiesOf(services);
  if (list.rendered.groups?.policies === policies) return;
  for (const entry of groupsOf(list, services, policies).samples.slice(0, MAX_WARMED)) {
    services.authorizer.warmUp(actions[kind], entry);
    services.backends.get(entry.backend)?.authorizer?.warmUp(actions[kind], entry.own ?? entry);
  }
}

const HIDDEN = 0;
const SHOWN = 1;
const SHOWN_WITHOUT_APPS = 2;

/** A caller who may not read a tool's app sees the tool without it. */
function shownAs(kind: ListKind, entry: CatalogueEntry, asker: Caller, services: PolicyServices): number {
  if (!isVisible(kind, entry, asker, services)) return HIDDEN;
  const hasAll = entry.apps?.every((uri) =>
    isVisible('resources', entryOfApp(uri, entry.backend, services), asker, services),
  );
  return hasAll === false ? SHOWN_WITHOUT_APPS : SHOWN;
}

function textOf(kind: ListKind, { entries }: List, shownOf: (index: number) => number): string {
  const texts = entries.flatMap(({ text }, index) => {
    const shown = shownOf(index);
    return shown === HIDDEN ? [] : [shown === SHOWN ? text : withoutApps(text)];
  });
  return `"${LIST_SPECS[kind].member}":[${texts.join(',')}]`;
}

function groupsOf({ entries, rendered }: List, services: PolicyServices, policies: string): EntryGroups {
  if (rendered.groups?.policies !== policies) rendered.groups = { policies, ...groupEntries(entries, services) };
  return rendered.groups;
}

function groupEntries(entries: readonly CatalogueEntry[], { authorizer, backends }: PolicyServices) {
  const samples: CatalogueEntry[] = [];
  const indices = new Map<string, number>();
  const numbers = new Map<object, number>();
  const numberOf = (key: object): number => known(numbers, key, () => numbers.size);
  const groupOf = entries.map((entry, index) => {
    const own = backends.get(entry.backend)?.authorizer?.classOf(entry.own ?? entry) ?? OPEN;
    const alone = entry.connects === undefined && !entry.apps ? '' : String(index);
    const key = `${numberOf(authorizer.classOf(entry))} ${numberOf(own)} ${alone}`;
    return known(indices, key, () => samples.push(entry) - 1);
  });
  return { samples, groupOf };
}

const OPEN = {};

function known<K>(values: Map<K, number>, key: K, make: () => number): number {
  const value = values.get(key) ?? make();
  values.set(key, value);
  return value;
}
