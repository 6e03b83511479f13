import type { BackendMessage } from '../envelope/decode-backend-message.ts';
import { findMember } from '../envelope/find-member.ts';
import type { Span } from '../envelope/scan-envelope.ts';
import { BRACE, CLOSE_BRACE, skipSpace } from '../envelope/scan-json.ts';
import type { Edit } from '../envelope/splice.ts';

/** Members of a task that the gateway reads. */
export interface TaskState {
  readonly taskId: string;
  readonly hasEnded: boolean;
  /** Milliseconds. Undefined: unlimited. */
  readonly ttl: number | undefined;
}

const ENDED: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled']);

function valueOf(text: string, open: number, member: string): unknown {
  const span = findMember(text, open, member);
  try {
    return span && JSON.parse(text.slice(span.start, span.end));
  } catch {
    return undefined;
  }
}

/** Reads the task in a backend's result or notification. Undefined: it has none. */
export function readTask(text: string, { spans }: Pick<BackendMessage, 'spans'>): TaskState | undefined {
  const at = spans.result ?? spans.params;
  if (!at || text.charCodeAt(at.start) !== BRACE) return undefined;
  const taskId = valueOf(text, at.start, 'taskId');
  if (typeof taskId !== 'string') return undefined;
  const ttl = valueOf(text, at.start, 'ttlMs');
  return {
    taskId,
    hasEnded: ENDED.has(valueOf(text, at.start, 'status')),
    ttl: typeof ttl === 'number' && ttl > 0 ? ttl : undefined,
  };
}

/** Returns the edits of a result or a notification that name the client's id of its task. */
export function taskEdits(text: string, { spans }: Pick<BackendMessage, 'spans'>, taskId: string): Edit[] {
  const at = spans.result ?? spans.params;
  const id = at && findMember(text, at.start, 'taskId');
  return id ? [{ ...id, text: JSON.stringify(taskId) }, ...completeResult(text, at)] : [];
}

/**
 * Adds `resultType` to the result inside a task. The specification's examples lack it, and the client of
 * `@modelcontextprotocol/ext-tasks` takes a result without it for a failure.
 */
function completeResult(text: string, { start }: Span): Edit[] {
  const result = findMember(text, start, 'result');
  if (!result || text.charCodeAt(result.start) !== BRACE || findMember(text, result.start, 'resultType')) return [];
  const first = result.start + 1;
  const isEmpty = text.charCodeAt(skipSpace(text, first)) === CLOSE_BRACE;
  return [{ start: first, end: first, text: `"resultType":"complete"${isEmpty ? '' : ','}` }];
}
