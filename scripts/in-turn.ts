import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Receives output as it is produced. */
export type Say = (part: string | Uint8Array) => void;

const PIECE = 64 * 1024;

/** Buffers output of any length in a file. */
class Held {
  readonly #folder = mkdtempSync(join(tmpdir(), 'vmcp-output-'));
  readonly #file = openSync(join(this.#folder, 'output'), 'w+');
  #live: Say | undefined;

  say(part: string | Uint8Array): void {
    if (this.#live) this.#live(part);
    else writeSync(this.#file, typeof part === 'string' ? Buffer.from(part) : part);
  }

  /** Prints the buffered output, and passes later output through. */
  release(say: Say): void {
    const piece = Buffer.alloc(PIECE);
    for (let at = 0, read; (read = readSync(this.#file, piece, 0, PIECE, at)) > 0; at += read) {
      say(Buffer.from(piece.subarray(0, read)));
    }
    this.#live = say;
  }

  close(): void {
    closeSync(this.#file);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/**
 * Runs several works concurrently, and prints their output as if they ran one after the other. Rejects with the first failure after all
 * have ended.
 */
export async function inTurn<T>(works: readonly ((say: Say) => Promise<T>)[], say: Say): Promise<T[]> {
  const begun = works.map((work) => {
    const held = new Held();
    return { held, done: work((part) => held.say(part)) };
  });
  // A failure may precede the await of its promise.
  for (const { done } of begun) done.catch(() => undefined);
  for (const { held, done } of begun) {
    held.release(say);
    await done.catch(() => undefined);
    held.close();
  }
  return Promise.all(begun.map(({ done }) => done));
}
