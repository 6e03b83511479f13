import { createHash } from 'node:crypto';
import type { Registry } from '../records/registry.ts';

/** Rendered registry. */
export interface Answered {
  registry: Registry;
  /** The registry as JSON. */
  json: Buffer;
  /** Digest of these bytes, 22 characters of base64url. */
  digest: string;
}

/**
 * Caches the last answer with its JSON, as the serialization of thousands of servers blocks the event loop. It renders
 * again if one of the parts is another object.
 */
export class CachedAnswer {
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
