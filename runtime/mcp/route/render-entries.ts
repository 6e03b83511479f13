import type { Rooms } from '#runtime/rooms';
import type { Asker } from '../aggregate/asker.ts';
import type { KindCatalogue } from '../aggregate/catalogue.ts';
import { LIST_SPECS, type ListKind } from '../aggregate/list-kinds.ts';
import { isVisible } from './resolve-target.ts';

const MAX_RENDERED = 256;

/**
 * What policies can read of a caller: two tokens of one person may differ in it. Without policies all callers see the same.
 */
function viewOf({ identity }: Asker, { authorizer, config, backends }: Rooms): string {
  if (config.authz === undefined && backends.all.every((backend) => backend.authorizer === undefined)) return '';
  const { key, groups, claims, clientId, scopes } = identity;
  return `${authorizer.id}\n${JSON.stringify([key, groups, claims, clientId, scopes])}`;
}

/** The members of a list result: the entries that this caller may see, as JSON text. Remembered by what decides. */
export function renderEntries(kind: ListKind, list: KindCatalogue, asker: Asker, rooms: Rooms): string {
  const key = viewOf(asker, rooms);
  const known = list.rendered.get(key);
  if (known !== undefined) return known;
  const visible = list.entries.filter((entry) => isVisible(kind, entry, asker, rooms));
  const text = `"${LIST_SPECS[kind].member}":[${visible.map((entry) => entry.text).join(',')}]`;
  if (list.rendered.size >= MAX_RENDERED) list.rendered.clear();
  list.rendered.set(key, text);
  return text;
}
