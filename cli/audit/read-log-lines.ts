import { createReadStream, statSync } from 'node:fs';
import { createGunzip } from 'node:zlib';

/** Characters. The longest audit line holds 1 MiB of data. */
const LONGEST = 4 * 1024 * 1024;

/** Yields complete lines without their line breaks; skips lines longer than `LONGEST`. */
export async function* splitLines(texts: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  let rest = '';
  for await (const text of texts) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LONGEST) rest = '';
    yield* lines;
  }
}

/** Reads a rotated file, also a compressed one. */
export function readRotated(path: string): AsyncGenerator<string, void, void> {
  const bytes = createReadStream(path);
  const plain = path.endsWith('.gz') ? bytes.pipe(createGunzip()) : bytes;
  return splitLines(plain.setEncoding('utf8'));
}

/** Reads a file that programs append to. Each call of `next` yields the lines since the last one, across rotations. */
export class AppendedFile {
  readonly #path: string;
  #inode: number | undefined;
  #offset = 0;

  constructor(path: string) {
    this.#path = path;
  }

  async *next(): AsyncGenerator<string, void, void> {
    const stat = statSync(this.#path, { throwIfNoEntry: false });
    if (!stat) return;
    if (this.#inode !== undefined && stat.ino !== this.#inode) yield* this.#renamed(this.#inode);
    // Another file, or one that was emptied, is read from its start.
    if (stat.ino !== this.#inode || stat.size < this.#offset) this.#offset = 0;
    this.#inode = stat.ino;
    yield* this.#readTo(this.#path, stat.size);
  }

  /** Yields the unread lines of the former file. */
  async *#renamed(inode: number): AsyncGenerator<string, void, void> {
    const path = `${this.#path}.1`;
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.ino === inode) yield* this.#readTo(path, stat.size);
  }

  async *#readTo(path: string, size: number): AsyncGenerator<string, void, void> {
    if (size <= this.#offset) return;
    const stream = createReadStream(path, { start: this.#offset, end: size - 1, encoding: 'utf8' });
    for await (const line of splitLines(stream)) {
      this.#offset += Buffer.byteLength(line) + 1;
      yield line;
    }
  }
}
