import type { CallOptions, KubeApi, Selection } from './api.ts';
import type { KubeObject, Resource } from './object.ts';
import { type NextPage, tooLong } from './read-page.ts';

/** Objects per request. */
const PAGE = 500;

/** Yields all objects of a selection and holds one page at a time. @throws ApiError; also (`isTooLong`) if they exceed `longest` bytes */
export async function* listAll(
  api: Pick<KubeApi, 'list'>,
  resource: Resource,
  selection: Selection,
  longest = Infinity,
  options: CallOptions = {},
): AsyncGenerator<KubeObject, void> {
  let next: NextPage | undefined;
  let weight = 0;
  do {
    const page = await api.list(resource, selection, { ...options, limit: PAGE, next });
    weight += page.weight;
    if (weight > longest) throw tooLong(`list ${resource.plural}`, longest);
    yield* page.items;
    next = page.next;
  } while (next !== undefined);
}
