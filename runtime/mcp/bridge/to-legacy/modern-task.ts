import type { BackendSession } from '#runtime/mcp/sessions/session';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { resultOf } from '../members-of.ts';
import { renderError, type ModernAnswer } from './to-modern-answer.ts';

/** The session in which a task of a legacy backend lives. Any process can use it. */
export type TaskSession = Pick<BackendSession, 'sessionId' | 'revision' | 'address'>;

/** A task of a legacy backend, in the id that the layers above the bridge know. */
export interface LegacyTaskId extends TaskSession {
  /** The backend's own id. */
  readonly id: string;
}

const RESERVED_META = 'io.modelcontextprotocol/';
const INVALID_PARAMS = -32602;

export function taskIdOf({ id, sessionId, revision, address }: LegacyTaskId): string {
  return JSON.stringify([id, revision, sessionId ?? null, address ?? null]);
}

/** The seal of the id proves that the bridge wrote the text. Undefined: an id of another form. */
export function readTaskId(text: unknown): LegacyTaskId | undefined {
  try {
    const parts: unknown = JSON.parse(String(text));
    const [id, revision, session, address] = (Array.isArray(parts) ? parts : []) as readonly unknown[];
    if (typeof id !== 'string' || typeof revision !== 'string') return undefined;
    return { id, revision, sessionId: textOf(session), address: textOf(address) };
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Returns the task that a legacy backend created. Undefined: it answered the call itself. */
export function createdTask(body: Buffer): JsonObject | undefined {
  const { task } = resultOf(body.toString('utf8'));
  return isJsonObject(task) && typeof task.taskId === 'string' ? task : undefined;
}

/** Returns the members of a task of 2025-11-25 in the form of 2026-07-28. */
export function modernTask(task: JsonObject, taskId: string): JsonObject {
  const { status, statusMessage, createdAt, lastUpdatedAt, ttl = null, pollInterval } = task;
  return { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs: ttl, pollIntervalMs: pollInterval };
}

/** Returns the result of a tool inside its task. */
export function inlineResult(result: JsonObject): JsonObject {
  const { _meta, ...rest } = result;
  const meta = Object.entries(isJsonObject(_meta) ? _meta : {}).filter(([key]) => !key.startsWith(RESERVED_META));
  return { resultType: 'complete', ...rest, ...(meta.length > 0 ? { _meta: Object.fromEntries(meta) } : {}) };
}

export function renderTask(idText: string, result: JsonObject, kind: 'task' | 'result'): ModernAnswer {
  const resultType = kind === 'task' ? 'task' : 'complete';
  const text = JSON.stringify({ resultType, ...result });
  return { status: 200, body: Buffer.from(`{"jsonrpc":"2.0","id":${idText},"result":${text}}`), kind };
}

export function lostTask(idText: string): ModernAnswer {
  const message = 'The backend no longer knows the task, or its session';
  return renderError(idText, { code: INVALID_PARAMS, message });
}
