import type { ClientRequest } from '../client-request.ts';
import type { DecodedRequest } from '../envelope/decode-request.ts';
import { findMember } from '../envelope/find-member.ts';
import { splice, type Edit } from '../envelope/splice.ts';
import { declaresTasks, needsTasks } from '../extensions.ts';
import type { Framing } from '../framing.ts';
import { withinLimits } from '../route/within-limits.ts';
import { resolveTask } from './resolve-task.ts';

/**
 * Serves a request about a task: resolves and authorizes by its id, limits, relays. `sessionAt`: see `resolveTask`.
 * @throws RequestError
 */
export function serveTask<R extends ClientRequest>(
  request: R,
  framing: Framing<R>,
  sessionAt?: (backend: string) => string,
): Promise<void> {
  return framing.keepAlive(request, async () => {
    const { message, services, requestRecord, body } = request;
    // Judged before the id.
    if (framing.era === 'modern' && !declaresTasks(message)) throw needsTasks();
    const asker = framing.asker(request);
    const taskId = message.params?.taskId;
    const catalogue = framing.catalogue(request, asker);
    const { backend, id, tool } = await resolveTask(taskId, sessionAt, catalogue, asker, services);
    requestRecord.target = tool;
    requestRecord.backend = backend.name;
    const call = {
      backend,
      originalName: id,
      body: splice(body, [...framing.edits(message), ...ownId(message, body, id)]),
      idempotent: message.method !== 'tasks/update',
      taskId: String(taskId),
      ...(message.method === 'tasks/result' && { relatedTask: String(taskId) }),
    };
    await withinLimits(backend, undefined, request, () => framing.relay(request, call));
  });
}

function ownId({ spans }: DecodedRequest, body: Buffer, id: string): Edit[] {
  const span = spans.params && findMember(body.toString('latin1'), spans.params.start, 'taskId');
  return span ? [{ ...span, text: JSON.stringify(id) }] : [];
}
