import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { decodeBackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { TASKS } from '../../extensions.ts';
import { legacyAnswer, type LegacyAnswer } from './legacy-answer.ts';

/** A task of a modern backend, in the id that the layers above the bridge know. */
export interface ModernTaskId {
  /** The backend's own id. */
  readonly id: string;
  /** The backend's own name of the tool. */
  readonly tool: string;
}

const INTERNAL_ERROR = -32603;

/** Returns whether a backend refused a call because the caller did not declare tasks. It executed nothing. */
export function needsTask(data: string): boolean {
  const { error } = JSON.parse(data) as JsonObject;
  const details = isJsonObject(error) && isJsonObject(error.data) ? error.data : {};
  const required = isJsonObject(details.requiredCapabilities) ? details.requiredCapabilities.extensions : undefined;
  return isJsonObject(required) && TASKS in required;
}

/** The tool's name is part of the id, as the result depends on the tool's output schema. */
export function taskIdOf({ id, tool }: ModernTaskId): string {
  return JSON.stringify([id, tool]);
}

/** Returns undefined for an id of another form, such as that of a cached result. */
export function readTaskId(text: unknown): ModernTaskId | undefined {
  try {
    const parts: unknown = JSON.parse(String(text));
    const [id, tool] = (Array.isArray(parts) ? parts : []) as readonly unknown[];
    return typeof id === 'string' && typeof tool === 'string' ? { id, tool } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a task of 2026-07-28 in the form of 2025-11-25, where a tool's error is a failure. */
export function legacyTask(task: JsonObject, taskId: string): JsonObject {
  const { status, statusMessage, createdAt, lastUpdatedAt, ttlMs = null, pollIntervalMs, result } = task;
  const isError = status === 'completed' && isJsonObject(result) && result.isError === true;
  return {
    taskId,
    status: isError ? 'failed' : status,
    statusMessage,
    createdAt,
    lastUpdatedAt,
    ttl: ttlMs,
    pollInterval: pollIntervalMs,
  };
}

/** `idText`: JSON text of the client's id. `isWrapped`: as for `legacyAnswer`. Returns the answer to the call of an ended task. */
export function outcomeOf(task: JsonObject, idText: string, isWrapped: boolean): LegacyAnswer {
  const outcome = task.status === 'completed' ? { result: task.result ?? {} } : { error: task.error ?? errorOf(task) };
  const text = JSON.stringify({ jsonrpc: '2.0', id: 0, ...outcome }).replace('"id":0', `"id":${idText}`);
  const message = decodeBackendMessage(text);
  if (message?.kind === 'response') return legacyAnswer(text, message, { method: 'tools/call', idText, isWrapped });
  return errorAnswer(idText, { code: INTERNAL_ERROR, message: 'The backend gave no valid result of the task' });
}

function errorOf({ status, statusMessage }: JsonObject): JsonObject {
  const text = status === 'cancelled' ? 'The task was cancelled' : 'The task failed';
  return { code: INTERNAL_ERROR, message: typeof statusMessage === 'string' ? `${text}: ${statusMessage}` : text };
}

export function errorAnswer(idText: string, error: JsonObject): LegacyAnswer {
  return { text: `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(error)}}`, kind: 'error' };
}

export function resultAnswer(idText: string, result: JsonObject): LegacyAnswer {
  return { text: `{"jsonrpc":"2.0","id":${idText},"result":${JSON.stringify(result)}}`, kind: 'result' };
}
