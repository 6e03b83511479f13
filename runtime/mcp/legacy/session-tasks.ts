import { decodeBackendMessage, type BackendMessage } from '../envelope/decode-backend-message.ts';
import { findMember } from '../envelope/find-member.ts';
import { spliceText } from '../envelope/splice.ts';
import type { Session } from '../sessions/session.ts';
import { insertMember, readTask, taskEdits, taskOpen } from '../tasks/rewrite-task.ts';

const RELATED_TASK = 'io.modelcontextprotocol/related-task';
/** Older tasks of a session get no notifications. */
const MOST = 1_000;

const taskKey = (backend: string, id: string) => `${backend}\n${id}`;

/** Remembers the client's id of a task, for the backend's notifications. */
export function noteTask(session: Session, backend: string, id: string, taskId: string): void {
  const tasks = (session.tasks ??= new Map<string, string>());
  tasks.set(taskKey(backend, id), taskId);
  const [oldest] = tasks.keys();
  if (tasks.size > MOST && oldest !== undefined) tasks.delete(oldest);
}

/** Returns a notification with the client's id of its task. Undefined: this replica did not relay the task's creation. */
export function withKnownTask(
  data: string,
  { spans }: BackendMessage,
  session: Session,
  backend: string,
): string | undefined {
  const open = taskOpen(spans);
  const task = readTask(data, open);
  const taskId = task && session.tasks?.get(taskKey(backend, task.taskId));
  return taskId === undefined ? undefined : spliceText(data, taskEdits(data, open, taskId));
}

/** Returns a message with its task in `_meta`, as 2025-11-25 requires of all messages for a task. */
export function withRelatedTask(data: string, taskId: string): string {
  const spans = decodeBackendMessage(data)?.spans;
  const open = spans && taskOpen(spans);
  if (open === undefined) return data;
  const related = `${JSON.stringify(RELATED_TASK)}:${JSON.stringify({ taskId })}`;
  const meta = findMember(data, open, '_meta');
  const edit = meta ? insertMember(data, meta.start, related) : insertMember(data, open, `"_meta":{${related}}`);
  return spliceText(data, [edit]);
}
