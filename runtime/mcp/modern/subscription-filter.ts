import type { ListKind } from '../aggregate/list-kinds.ts';
import { isJsonObject } from '../envelope/decode-request.ts';
import { invalidParams } from '../route/refusals.ts';
import { resolveUri } from '../route/resolve-target.ts';
import { TemplateSearch } from '../route/template-search.ts';
import { modernAsker, type ModernRequest } from './modern-request.ts';

const MAX_URIS = 1_000;
/** The request is kept while its stream is open. */
const MAX_BYTES = 262_144;
/** Characters of templates and URIs examined for all URIs of one request. */
const MOST_FOR_ALL = 20_000_000;

export const FLAGS: Partial<Record<ListKind, string>> = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
};

export interface Filter {
  readonly kinds: ReadonlySet<ListKind>;
  readonly uris: readonly string[];
}

/** @throws RequestError 400 */
export function readFilter({ message, body }: Pick<ModernRequest, 'message' | 'body'>): Filter {
  if (body.length > MAX_BYTES) throw invalidParams(`subscriptions/listen has at most ${MAX_BYTES} bytes`, 400);
  const notifications = message.params?.notifications;
  if (!isJsonObject(notifications)) throw invalidParams('subscriptions/listen needs params.notifications', 400);
  const { resourceSubscriptions: uris = [] } = notifications;
  if (!Array.isArray(uris) || uris.length > MAX_URIS || !uris.every((uri) => typeof uri === 'string')) {
    throw invalidParams(`resourceSubscriptions must be at most ${MAX_URIS} strings`, 400);
  }
  const kinds = (Object.keys(FLAGS) as ListKind[]).filter((kind) => notifications[FLAGS[kind] ?? ''] === true);
  return { kinds: new Set(kinds), uris };
}

/** Omits URIs that the caller may not see, and the rest if the client leaves or the limit is reached. */
export async function assignUris(uris: readonly string[], request: ModernRequest): Promise<Map<string, string[]>> {
  const services = { ...request.services, rateLimits: undefined };
  const asker = modernAsker(request);
  const assigned = new Map<string, string[]>();
  const search = new TemplateSearch(MOST_FOR_ALL);
  for (const uri of uris) {
    if (request.res.destroyed) break;
    try {
      const { backend } = await resolveUri(uri, services.catalogues.of(asker), asker, services, search);
      assigned.set(backend.name, [...(assigned.get(backend.name) ?? []), uri]);
    } catch {
      // The client only sees that it is missing from the acknowledgement.
    }
  }
  return assigned;
}
