import { RequestError } from '#runtime/errors';
import { ask } from '../backends/ask.ts';
import type { AnswerSink } from '../backends/backend.ts';
import { decodeBackendMessage } from '../envelope/decode-backend-message.ts';
import { spliceText } from '../envelope/splice.ts';
import { callDeadline } from '../relay/call-deadline.ts';
import { inOnePiece, sinkFor } from '../relay/rewriting-sink.ts';
import type { PreparedCall } from '../route/prepare-call.ts';
import { backendSessionHeaders } from '../sessions/open-backend-session.ts';
import type { BackendSession } from '../sessions/session.ts';
import { nestedTaskOpen, readTask, taskEdits, taskOpen } from '../tasks/rewrite-task.ts';
import { beginTask } from '../tasks/task-answer.ts';
import type { LegacyRequest } from './legacy-request.ts';
import { noteTask, withRelatedTask } from './session-tasks.ts';

/** Returns the sink for a call that may create a task of 2025-11-25, or is about one; that of `sinkFor` for other calls. */
export function taskSink(
  sink: AnswerSink,
  request: LegacyRequest,
  call: PreparedCall,
  backendSession: BackendSession,
): AnswerSink {
  if (!call.createsTask && call.taskId === undefined) return sinkFor(sink, call);
  const routed = (text: string, pass: (text: string) => void) => {
    try {
      pass(routedAnswer(text, request, call, backendSession));
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      sink.fail({ reason: 'protocol', sent: true, error });
    }
  };
  return {
    ...inOnePiece(sink),
    json: (status, body, kind, sessionId) =>
      routed(body.toString('utf8'), (text) => {
        const { relatedTask } = call;
        const whole = relatedTask === undefined ? text : withRelatedTask(text, relatedTask);
        sink.json(status, Buffer.from(whole), kind, sessionId);
      }),
    event: (event) => {
      if (event.message?.kind !== 'response') sink.event(event);
      else routed(event.data, (data) => sink.event({ ...event, data, message: decodeBackendMessage(data) }));
    },
  };
}

/** Returns the answer with the client's id of its task. @throws RequestError */
function routedAnswer(
  text: string,
  request: LegacyRequest,
  call: PreparedCall,
  backendSession: BackendSession,
): string {
  const { backend, taskId: about, relatedTask } = call;
  const spans = decodeBackendMessage(text)?.spans;
  if (relatedTask !== undefined) request.services.tasks.ended(relatedTask);
  if (!spans?.result || relatedTask !== undefined) return text;
  const open = about === undefined ? nestedTaskOpen(text, spans) : taskOpen(spans);
  const task = readTask(text, open);
  if (!task) return text;
  const { services, session } = request;
  if (about !== undefined) {
    if (task.hasEnded) services.tasks.ended(about);
    return spliceText(text, taskEdits(text, open, about));
  }
  const taskId = beginTask(task, request, call, {
    isWanted: true,
    countedFor: session.countedFor,
    session: backendSession.sessionId ?? '',
    cancel: (id) => cancelTask(id, request, backendSession),
  });
  void noteTask(session, { backend: backend.name, id: task.taskId, taskId }, services);
  return spliceText(text, taskEdits(text, open, taskId));
}

async function cancelTask(
  id: string,
  { identity, services, session }: LegacyRequest,
  backendSession: BackendSession,
): Promise<void> {
  const { at, address } = backendSession;
  const question = {
    identity,
    era: 'legacy' as const,
    session,
    method: 'tasks/cancel',
    paramsText: JSON.stringify({ taskId: id }),
    headers: backendSessionHeaders(backendSession),
    address,
    deadline: callDeadline(services, at.name),
  };
  // The client gets the same error either way.
  await ask(at, question).catch(() => undefined);
}
