import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { checkPath, SeenPaths } from './check-path.ts';
import { SkillBudget, type Space } from './skill-limits.ts';

/** Checks each path, counts each byte; never opens existing files. Every method throws Problem `bad_request`. */
export class FileWriter {
  readonly #root: string;
  readonly #budget: SkillBudget;
  readonly #seen: SeenPaths;

  /** @param root an empty folder to which no other process writes */
  constructor(root: string, space: Space) {
    this.#root = root;
    this.#budget = new SkillBudget(space);
    this.#seen = new SeenPaths(this.#budget);
  }

  async addFolder(path: string): Promise<void> {
    const parts = checkPath(path);
    if (parts.length === 0) return;
    this.#seen.addFolder(parts);
    await mkdir(join(this.#root, ...parts), { recursive: true, mode: 0o755 });
  }

  /** @param isProgram the file is executable; no other permission is copied */
  async addFile(path: string, content: AsyncIterable<unknown>, isProgram: boolean): Promise<void> {
    const parts = checkPath(path);
    this.#seen.addFile(parts);
    const target = join(this.#root, ...parts);
    await mkdir(dirname(target), { recursive: true, mode: 0o755 });
    const budget = this.#budget;
    const counted = async function* (chunks: AsyncIterable<unknown>) {
      for await (const chunk of chunks) {
        if (!Buffer.isBuffer(chunk)) throw new TypeError('a file consists of bytes');
        budget.addBytes(chunk.length);
        yield chunk;
      }
    };
    await pipeline(content, counted, createWriteStream(target, { flags: 'wx', mode: isProgram ? 0o755 : 0o644 }));
  }
}
