import { randomUUID } from 'node:crypto';

/** The client's answer, as JSON text of the result. Undefined: the client refused. */
type TakeAnswer = (result: string | undefined) => void;

/** Requests of backends that clients have not answered. Only the asked client knows the id, which nobody can guess. */
export class Questions {
  readonly #waiting = new Map<string, TakeAnswer>();

  /** Returns the JSON text of the question's id. */
  add(take: TakeAnswer): string {
    const idText = `"${randomUUID()}"`;
    this.#waiting.set(idText, take);
    return idText;
  }

  drop(idText: string): void {
    this.#waiting.delete(idText);
  }

  /** Returns false if no question has this id here. */
  answer(idText: string, result: string | undefined): boolean {
    const take = this.#waiting.get(idText);
    this.#waiting.delete(idText);
    take?.(result);
    return take !== undefined;
  }
}
