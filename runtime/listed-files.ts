import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ConfigError } from '#runtime/errors';

/**
 * Checks the files of a folder against allowed digests. Another folder has a file `config.<digest>` for each allowed file; the digest
 * covers name and content. In a cluster, the first folder is a ConfigMap and the second a Secret, so that replacing the ConfigMap alone
 * has no effect.
 */
export class ListedFiles {
  readonly #folder: string;
  readonly #marks: string;
  readonly #missed = new Map<string, string>();

  constructor(folder: string, marks: string) {
    this.#folder = folder;
    this.#marks = marks;
  }

  /** @throws ConfigError for a file of the folder without an allowed digest */
  check(path: string, bytes: Uint8Array): void {
    const name = relative(this.#folder, path);
    if (name.startsWith('../')) return;
    const mark = join(this.#marks, `config.${hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), bytes]))}`);
    this.#missed.delete(path);
    if (existsSync(mark)) return;
    this.#missed.set(path, mark);
    throw new ConfigError(`${path}: it is not what the operator wrote; the Secret of this server has no mark of it`);
  }

  /** Digests that the last checks did not find. */
  get missed(): string[] {
    return [...this.#missed.values()];
  }

  forget(): void {
    this.#missed.clear();
  }
}
