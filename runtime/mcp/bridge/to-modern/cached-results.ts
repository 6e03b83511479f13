import { randomUUID } from 'node:crypto';
import { decodeBackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import type { JsonObject } from '#runtime/mcp/envelope/decode-request';
import { spliceText } from '#runtime/mcp/envelope/splice';
import { FinishedCalls } from '../finished-calls.ts';
import type { LegacyAnswer } from './legacy-answer.ts';

/** Milliseconds. */
const LIFETIME = 600_000;

interface CachedResult {
  readonly answer: LegacyAnswer;
  readonly task: JsonObject;
}

/**
 * Results of calls that should have become tasks, but that the backend answered at once: a client of 2025-11-25 that
 * asks for a task gets one. The results live in this process.
 */
export class CachedResults {
  readonly #finished = new FinishedCalls((id) => this.#byId.delete(id));
  readonly #byId = new Map<string, CachedResult>();

  /** Returns the ended task of the answer. */
  keep(answer: LegacyAnswer, caller: string): JsonObject {
    const taskId = randomUUID();
    const at = new Date().toISOString();
    const status = answer.kind === 'tool_error' ? 'failed' : 'completed';
    const task = { taskId, status, createdAt: at, lastUpdatedAt: at, ttl: LIFETIME };
    this.#byId.set(taskId, { answer, task });
    this.#finished.add(taskId, { caller, bytes: answer.text.length, milliseconds: LIFETIME });
    return task;
  }

  taskOf(id: unknown): JsonObject | undefined {
    return this.#find(id)?.task;
  }

  /** `idText`: JSON text of the id of the client's request. */
  answerOf(id: unknown, idText: string): LegacyAnswer | undefined {
    const answer = this.#find(id)?.answer;
    const span = answer && decodeBackendMessage(answer.text)?.spans.id;
    return answer && span && { ...answer, text: spliceText(answer.text, [{ ...span, text: idText }]) };
  }

  #find(id: unknown): CachedResult | undefined {
    return typeof id === 'string' ? this.#byId.get(id) : undefined;
  }
}
