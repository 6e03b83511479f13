import type { Rooms } from '#runtime/rooms';
import type { Asker } from '../aggregate/asker.ts';
import type { KindCatalogue } from '../aggregate/catalogue.ts';
import { LIST_SPECS, type ListKind } from '../aggregate/list-kinds.ts';
import { isVisible } from './resolve-target.ts';

const MAX_RENDERED = 256;

/** The members of a list result: the entries that this caller may see, as JSON text. Remembered by caller. */
export function renderEntries(kind: ListKind, list: KindCatalogue, asker: Asker, rooms: Rooms): string {
  const key = `${rooms.authorizer.id}\n${asker.identity.key}`;
  const known = list.rendered.get(key);
  if (known !== undefined) return known;
  const visible = list.entries.filter((entry) => isVisible(kind, entry, asker, rooms));
  const text = `"${LIST_SPECS[kind].member}":[${visible.map((entry) => entry.text).join(',')}]`;
  if (list.rendered.size >= MAX_RENDERED) list.rendered.clear();
  list.rendered.set(key, text);
  return text;
}
