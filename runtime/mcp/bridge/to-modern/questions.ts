import { randomUUID } from 'node:crypto';
import type { BackendCall } from '#runtime/mcp/backends/backend';

/** `result`: JSON text. Undefined: the client refused, for this `reason`. */
type TakeAnswer = (result: string | undefined, reason: string | undefined) => void;

interface Question {
  readonly session: string | undefined;
  readonly take: TakeAnswer;
}

/** Requests of backends that clients have not answered. An answer counts only in the session that was asked. */
export class Questions {
  readonly #waiting = new Map<string, Question>();

  /** `session`: id of the backend session. Returns the JSON text of the question's id. */
  add(session: string | undefined, take: TakeAnswer): string {
    const idText = `"${randomUUID()}"`;
    this.#waiting.set(idText, { session, take });
    return idText;
  }

  drop(idText: string): void {
    this.#waiting.delete(idText);
  }

  /** Returns false if no question of this session has this id here. */
  answer(idText: string, session: string | undefined, ...[result, reason]: Parameters<TakeAnswer>): boolean {
    const question = this.#waiting.get(idText);
    if (question?.session !== session) return false;
    this.#waiting.delete(idText);
    question?.take(result, reason);
    return question !== undefined;
  }
}

export function sessionIdOf({ headers }: BackendCall): string | undefined {
  const at = headers.indexOf('mcp-session-id');
  return at < 0 ? undefined : headers[at + 1];
}
