import { createHash } from 'node:crypto';
import type { Registry } from '../records/registry.ts';

/** A registry as it is answered. */
export interface Answered {
  registry: Registry;
  /** The same as JSON. */
  json: Buffer;
  /** Of these bytes, 22 characters of base64url. */
  digest: string;
}

/**
 * The last answer with its text: one of thousands of servers takes the process that does everything else, too, a while to write. It is
 * written anew when something that it is made of is another object.
 */
export class KeptAnswer {
  #parts: readonly unknown[] = [];
  #answer: Answered | undefined;

  of(parts: readonly unknown[], render: () => Registry): Answered {
    const isSame = parts.length === this.#parts.length && parts.every((part, index) => part === this.#parts[index]);
    if (this.#answer && isSame) return this.#answer;
    const registry = render();
    const json = Buffer.from(JSON.stringify(registry));
    const digest = createHash('sha256').update(json).digest('base64url').slice(0, 22);
    this.#parts = parts;
    this.#answer = { registry, json, digest };
    return this.#answer;
  }
}
