import { findMember } from '../envelope/find-member.ts';
import type { Spans } from '../envelope/scan-envelope.ts';
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

/** `task`: of either revision. */
export function hasEnded({ status }: { readonly status?: unknown }): boolean {
  return ENDED.has(status);
}

function valueOf(text: string, open: number, member: string): unknown {
  const span = findMember(text, open, member);
  try {
    return span && JSON.parse(text.slice(span.start, span.end));
  } catch {
    return undefined;
  }
}

function isObjectAt(text: string, open: number | undefined): open is number {
  return open !== undefined && text.charCodeAt(open) === BRACE;
}

/** Returns the position of the task in a result or a notification: the whole result, or the params. */
export function taskOpen({ result, params }: Pick<Spans, 'result' | 'params'>): number | undefined {
  return (result ?? params)?.start;
}

/** Returns the position of the created task in a result of 2025-11-25. */
export function nestedTaskOpen(text: string, { result }: Pick<Spans, 'result'>): number | undefined {
  return result && findMember(text, result.start, 'task')?.start;
}

/** Reads the task at this position. Undefined: there is none. */
export function readTask(text: string, open: number | undefined): TaskState | undefined {
  if (!isObjectAt(text, open)) return undefined;
  const taskId = valueOf(text, open, 'taskId');
  if (typeof taskId !== 'string') return undefined;
  // 2026-07-28 names the unit, 2025-11-25 does not.
  const ttl = valueOf(text, open, 'ttlMs') ?? valueOf(text, open, 'ttl');
  return {
    taskId,
    hasEnded: hasEnded({ status: valueOf(text, open, 'status') }),
    ttl: typeof ttl === 'number' && ttl > 0 ? ttl : undefined,
  };
}

/** Returns the edits that name the client's id of the task at this position. */
export function taskEdits(text: string, open: number | undefined, taskId: string): Edit[] {
  const id = isObjectAt(text, open) ? findMember(text, open, 'taskId') : undefined;
  return id && open !== undefined ? [{ ...id, text: JSON.stringify(taskId) }, ...completeResult(text, open)] : [];
}

/**
 * Adds `resultType` to the result inside a task. The specification's examples lack it, and the client of
 * `@modelcontextprotocol/ext-tasks` takes a result without it for a failure.
 */
function completeResult(text: string, open: number): Edit[] {
  const result = findMember(text, open, 'result');
  if (!result || !isObjectAt(text, result.start) || findMember(text, result.start, 'resultType')) return [];
  return [insertMember(text, result.start, '"resultType":"complete"')];
}

/** Returns the edit that adds a first member to the object at `open`. */
export function insertMember(text: string, open: number, member: string): Edit {
  const first = open + 1;
  const isEmpty = text.charCodeAt(skipSpace(text, first)) === CLOSE_BRACE;
  return { start: first, end: first, text: isEmpty ? member : `${member},` };
}
