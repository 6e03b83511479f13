import { ask } from '../backends/ask.ts';
import type { Backend } from '../backends/backend.ts';
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
import { readTask, taskEdits, taskOpen, type TaskState } from './rewrite-task.ts';
import { MAX_ID } from './task-ids.ts';

/**
 * Returns a backend's answer with the client's id of its task: a created task, or the answer to a request about one.
 * Cancels a created task that the client cannot have. @throws RequestError
 */
export function taskAnswer(text: string, message: BackendMessage, request: ClientRequest, call: PreparedCall): string {
  const { services } = request;
  const open = taskOpen(message.spans);
  const task = readTask(text, open);
  if (call.taskId !== undefined) {
    if (task?.hasEnded) services.tasks.ended(call.taskId);
    return spliceText(text, taskEdits(text, open, call.taskId));
  }
  if (!task) throw callFailure(call.backend.name, 'protocol', true).error;
  const taskId = beginTask(task, request, call, {
    isWanted: declaresTasks(request.message),
    countedFor: countedFor(request.identity, request.requestRecord.req, services),
    cancel: (id) => cancelTask(id, call.backend, request),
  });
  return spliceText(text, taskEdits(text, open, taskId));
}

interface Creation {
  /** Whether the client can use the task. */
  readonly isWanted: boolean;
  readonly countedFor: string;
  /** See `BackendTask`. */
  readonly session?: string;
  /** Cancels the task at its backend. Never rejects. */
  readonly cancel: (id: string) => Promise<void>;
}

/** Returns the client's id of a created task, or cancels the task. @throws RequestError */
export function beginTask(
  { taskId: id, ttl, hasEnded }: TaskState,
  { identity, services }: ClientRequest,
  { backend, tool }: PreparedCall,
  { isWanted, countedFor: counted, session, cancel }: Creation,
): string {
  if (tool === undefined || id.length > MAX_ID) throw callFailure(backend.name, 'protocol', true).error;
  try {
    if (!isWanted) throw needsTasks();
    const of = { principal: identity.key, countedFor: counted };
    const taskId = services.tasks.begin({ backend: backend.name, id, tool, session }, ttl, of);
    if (hasEnded) services.tasks.ended(taskId);
    return taskId;
  } catch (error) {
    void cancel(id);
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
