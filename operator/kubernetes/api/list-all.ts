import type { KubeApi, Selection } from './api.ts';
import type { KubeObject, Resource } from './object.ts';
import type { NextPage } from './read-page.ts';

/** Objects that are asked for at once. */
const PAGE = 500;

/** All objects of a selection, of which a page is held at a time. @throws ApiError */
export async function* listAll(
  api: Pick<KubeApi, 'list'>,
  resource: Resource,
  selection: Selection,
): AsyncGenerator<KubeObject, void> {
  let next: NextPage | undefined;
  do {
    const page = await api.list(resource, selection, { limit: PAGE, next });
    yield* page.items;
    next = page.next;
  } while (next !== undefined);
}
