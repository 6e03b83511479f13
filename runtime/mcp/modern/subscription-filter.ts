import type { ListKind } from '../aggregate/list-kinds.ts';
import { isJsonObject, type JsonObject } from '../envelope/decode-request.ts';
import { declaresTasks, needsTasks } from '../extensions.ts';
import { invalidParams } from '../route/refusals.ts';
import { resolveUri } from '../route/resolve-target.ts';
import { TemplateSearch } from '../route/template-search.ts';
import { resolveTask } from '../tasks/resolve-task.ts';
import { modernAsker, type ModernRequest } from './modern-request.ts';

const MAX_LISTED = 1_000;
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
  /** The client's ids. */
  readonly taskIds: readonly string[];
}

/** Targets of the notifications from one backend. */
export interface Assigned {
  readonly uris: string[];
  /** The backend's own id to the client's. */
  readonly tasks: Map<string, string>;
}

/** @throws RequestError 400 */
export function readFilter({ message, body }: Pick<ModernRequest, 'message' | 'body'>): Filter {
  if (body.length > MAX_BYTES) throw invalidParams(`subscriptions/listen has at most ${MAX_BYTES} bytes`, 400);
  const notifications = message.params?.notifications;
  if (!isJsonObject(notifications)) throw invalidParams('subscriptions/listen needs params.notifications', 400);
  const uris = readStrings(notifications, 'resourceSubscriptions');
  const taskIds = readStrings(notifications, 'taskIds');
  if (notifications.taskIds !== undefined && !declaresTasks(message)) throw needsTasks();
  const kinds = (Object.keys(FLAGS) as ListKind[]).filter((kind) => notifications[FLAGS[kind] ?? ''] === true);
  return { kinds: new Set(kinds), uris, taskIds };
}

function readStrings(notifications: JsonObject, member: string): string[] {
  const { [member]: listed = [] } = notifications;
  if (!Array.isArray(listed) || listed.length > MAX_LISTED || !listed.every((one) => typeof one === 'string'))
    throw invalidParams(`${member} must be at most ${MAX_LISTED} strings`, 400);
  return listed;
}

/** Omits URIs and tasks that the caller may not see, and the rest if the client leaves or the limit is reached. */
export async function assignTargets({ uris, taskIds }: Filter, request: ModernRequest): Promise<Map<string, Assigned>> {
  const services = { ...request.services, rateLimits: undefined };
  const asker = modernAsker(request);
  const assigned = new Map<string, Assigned>();
  const search = new TemplateSearch(MOST_FOR_ALL);
  const of = (backend: string): Assigned => {
    const known = assigned.get(backend) ?? { uris: [], tasks: new Map<string, string>() };
    assigned.set(backend, known);
    return known;
  };
  const catalogue = () => services.catalogues.of(asker);
  const assign = [
    ...uris.map((uri) => async () => {
      const { backend } = await resolveUri(uri, catalogue(), asker, services, search);
      of(backend.name).uris.push(uri);
    }),
    ...taskIds.map((taskId) => async () => {
      const { backend, id } = await resolveTask(taskId, undefined, catalogue(), asker, services);
      of(backend.name).tasks.set(id, taskId);
    }),
  ];
  for (const one of assign) {
    if (request.res.destroyed) break;
    // The client only sees that it is missing from the acknowledgement.
    await one().catch(() => undefined);
  }
  return assigned;
}
