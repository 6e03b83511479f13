import { ask } from '../backends/ask.ts';
import type { AnswerSink, Backend } from '../backends/backend.ts';
import { callFailure } from '../backends/failures.ts';
import { modernHeaders, ownMeta } from '../backends/probe.ts';
import type { ClientRequest } from '../client-request.ts';
import type { BackendMessage } from '../envelope/decode-backend-message.ts';
import { spliceText } from '../envelope/splice.ts';
import { declaresTasks, needsTasks, PROBE_CAPABILITIES } from '../extensions.ts';
import { encodeHeaderValue } from '../modern/header-value.ts';
import { callDeadline } from '../relay/call-deadline.ts';
import type { PreparedCall } from '../route/prepare-call.ts';
import { countedFor } from '../sessions/session-limits.ts';
import { readTask, taskEdits } from './rewrite-task.ts';
import { MAX_ID } from './task-ids.ts';

/**
 * Returns a backend's answer with the client's id of its task: a created task, or the answer to a request about one.
 * Cancels a created task that the client cannot have. @throws RequestError
 */
export function taskAnswer(text: string, message: BackendMessage, request: ClientRequest, call: PreparedCall): string {
  const { services } = request;
  const task = readTask(text, message);
  if (call.taskId !== undefined) {
    if (task?.hasEnded) services.tasks.ended(call.taskId);
    return spliceText(text, taskEdits(text, message, call.taskId));
  }
  const { backend, tool } = call;
  if (!task || tool === undefined || task.taskId.length > MAX_ID)
    throw callFailure(backend.name, 'protocol', true).error;
  try {
    if (!declaresTasks(request.message)) throw needsTasks();
    const { identity, requestRecord } = request;
    const of = { principal: identity.key, countedFor: countedFor(identity, requestRecord.req, services) };
    const taskId = services.tasks.begin({ backend: backend.name, id: task.taskId, tool }, task.ttl, of);
    if (task.hasEnded) services.tasks.ended(taskId);
    return spliceText(text, taskEdits(text, message, taskId));
  } catch (error) {
    void cancelTask(task.taskId, backend, request);
    throw error;
  }
}

async function cancelTask(id: string, backend: Backend, { identity, services }: ClientRequest): Promise<void> {
  const method = 'tasks/cancel';
  const question = {
    identity,
    era: 'modern' as const,
    method,
    paramsText: `{"taskId":${JSON.stringify(id)},"_meta":${ownMeta(services.version, PROBE_CAPABILITIES)}}`,
    headers: [...modernHeaders(method), 'mcp-name', encodeHeaderValue(id)],
    deadline: callDeadline(services, backend.name),
  };
  // The client gets the same error either way.
  await ask(backend, question).catch(() => undefined);
}

/** Takes each answer in one piece, so that it can be rewritten. */
export function inOnePiece(sink: AnswerSink): AnswerSink {
  return {
    json: (...answer) => sink.json(...answer),
    accepted: () => sink.accepted(),
    open: (...opened) => sink.open(...opened),
    event: (event) => sink.event(event),
    close: (...ended) => sink.close(...ended),
    fail: (failure) => sink.fail(failure),
  };
}
