import { decodeBackendMessage, type BackendMessage } from '../envelope/decode-backend-message.ts';
import { findMember } from '../envelope/find-member.ts';
import { spliceText } from '../envelope/splice.ts';
import type { Services } from '#runtime/services';
import { taskField } from '../sessions/session-record.ts';
import type { Session } from '../sessions/session.ts';
import { insertMember, readTask, taskEdits, taskOpen } from '../tasks/rewrite-task.ts';

const RELATED_TASK = 'io.modelcontextprotocol/related-task';
/** Older tasks of a session get no notifications, and are not listed. */
const MOST = 200;

const taskKey = (backend: string, id: string) => `${backend}\n${id}`;

type Store = Pick<Services, 'sessions'>;

/** Remembers the client's id of a task at all replicas, for notifications of the backend and tasks/list. */
export async function noteTask(
  session: Session,
  { backend, id, taskId }: { backend: string; id: string; taskId: string },
  { sessions }: Store,
): Promise<void> {
  const tasks = (session.tasks ??= new Map<string, string>());
  const key = taskKey(backend, id);
  tasks.set(key, taskId);
  const [oldest = key] = tasks.keys();
  if (tasks.size > MOST) await forgetTask(session, tasks.get(oldest), { sessions });
  await sessions.remember(session, taskField(key, taskId));
}

/** Returns the client's ids of the tasks of the session. */
export function knownTasks(session: Session): Iterable<string> {
  return session.tasks?.values() ?? [];
}

export async function forgetTask(session: Session, taskId: string | undefined, { sessions }: Store): Promise<void> {
  for (const [key, known] of session.tasks ?? []) {
    if (known !== taskId) continue;
    session.tasks?.delete(key);
    await sessions.remember(session, taskField(key, undefined));
  }
}

/** Returns a notification with the client's id of its task. Undefined: the session has no such task. */
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
