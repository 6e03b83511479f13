import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Takes what is said as it is said. */
export type Say = (part: string | Uint8Array) => void;

const PIECE = 64 * 1024;

/** Holds back what is said until its turn comes: in a file, however much it is. */
class Held {
  readonly #folder = mkdtempSync(join(tmpdir(), 'vmcp-output-'));
  readonly #file = openSync(join(this.#folder, 'output'), 'w+');
  #live: Say | undefined;

  say(part: string | Uint8Array): void {
    if (this.#live) this.#live(part);
    else writeSync(this.#file, typeof part === 'string' ? Buffer.from(part) : part);
  }

  /** Says all that was held back, and from now on what comes. */
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
 * Does several things at once, and says what they say as if it were one after the other: of the first as it comes, of the
 * next ones when those before have ended. Rejects with the first failure once all have ended.
 */
export async function inTurn<T>(works: readonly ((say: Say) => Promise<T>)[], say: Say): Promise<T[]> {
  const begun = works.map((work) => {
    const held = new Held();
    return { held, done: work((part) => held.say(part)) };
  });
  // The turn of each comes later than its failure may.
  for (const { done } of begun) done.catch(() => undefined);
  for (const { held, done } of begun) {
    held.release(say);
    await done.catch(() => undefined);
    held.close();
  }
  return Promise.all(begun.map(({ done }) => done));
}
