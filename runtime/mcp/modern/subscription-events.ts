import { writeSse } from '#runtime/mcp/sse/write-sse';
import type { BackendMessage } from '../envelope/decode-backend-message.ts';
import { isJsonObject, type JsonObject } from '../envelope/decode-request.ts';
import type { MessageId } from '../envelope/message-id.ts';
import { spliceText } from '../envelope/splice.ts';
import { isSubResource } from '../route/is-sub-resource.ts';
import { taskEdits, taskOpen } from '../tasks/rewrite-task.ts';
import type { Assigned } from './subscription-filter.ts';

export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';

/** Renders the event of a notification. `id`: that of the client's request. */
export function renderNotification(method: string, params: JsonObject, id: MessageId): string {
  const data = JSON.stringify({ jsonrpc: '2.0', method, params: { ...params, _meta: { [SUBSCRIPTION_ID]: id } } });
  return writeSse({ event: 'message', data });
}

/** Renders the event of a changed task with the client's ids. The rest of the task stays as the backend wrote it. */
export function renderTask(data: string, message: BackendMessage, taskId: string, id: MessageId): string {
  const edits = taskEdits(data, taskOpen(message.spans), taskId);
  const meta = JSON.stringify({ [SUBSCRIPTION_ID]: id });
  const { params, 'params._meta': written } = message.spans;
  if (written) edits.push({ ...written, text: meta });
  else if (params) edits.push({ start: params.start + 1, end: params.start + 1, text: `"_meta":${meta},` });
  return writeSse({ event: 'message', data: spliceText(data, edits) });
}

export function paramsOf(data: string): JsonObject {
  try {
    const message: unknown = JSON.parse(data);
    return isJsonObject(message) && isJsonObject(message.params) ? message.params : {};
  } catch {
    return {};
  }
}

/** Returns the strings that a backend's acknowledgement lists. */
export function acknowledgedOf(data: string, member: string): string[] {
  const { notifications } = paramsOf(data);
  const listed = isJsonObject(notifications) ? notifications[member] : undefined;
  return Array.isArray(listed) ? listed.filter((one): one is string => typeof one === 'string') : [];
}

/** Returns whether the client subscribed to this URI of the backend. A subscription to a parent counts. */
export function isSubscribed(uri: string, backend: string, assigned: ReadonlyMap<string, Assigned>): boolean {
  const own = assigned.get(backend)?.uris ?? [];
  if (own.includes(uri)) return true;
  const isOthers = [...assigned.values()].some(({ uris }) => uris.includes(uri));
  return !isOthers && own.some((whole) => isSubResource(uri, whole));
}
