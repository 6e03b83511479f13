import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ConfigError } from '#runtime/errors';

/**
 * The files of a folder that may be served: for each there is a mark, which is a file in another folder, whose name has the digest of
 * name and content. In a cluster the one folder is a ConfigMap and the other one a Secret: whoever puts another ConfigMap in the place
 * of ours decides nothing.
 */
export class ListedFiles {
  readonly #folder: string;
  readonly #marks: string;
  readonly #missed = new Map<string, string>();

  constructor(folder: string, marks: string) {
    this.#folder = folder;
    this.#marks = marks;
  }

  /** @throws ConfigError for a file of the folder that has no mark */
  check(path: string, bytes: Uint8Array): void {
    const name = relative(this.#folder, path);
    if (name.startsWith('../')) return;
    const mark = join(this.#marks, `config.${hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), bytes]))}`);
    this.#missed.delete(path);
    if (existsSync(mark)) return;
    this.#missed.set(path, mark);
    throw new ConfigError(`${path}: it is not what the operator wrote; the Secret of this server has no mark of it`);
  }

  /** Marks that were looked for last, and are not there. */
  get missed(): string[] {
    return [...this.#missed.values()];
  }

  forget(): void {
    this.#missed.clear();
  }
}
