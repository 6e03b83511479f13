import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ConfigError } from '#runtime/errors';

/**
 * Checks a folder's files against a folder with a file `config.<digest>` of name and content for each allowed file. In a cluster, the
 * first is a ConfigMap and the second a Secret, so that replacing the ConfigMap alone has no effect.
 */
export class ListedFiles {
  readonly #folder: string;
  readonly #allowedDigests: string;
  readonly #missed = new Map<string, string>();

  constructor(folder: string, allowedDigests: string) {
    this.#folder = folder;
    this.#allowedDigests = allowedDigests;
  }

  /** @throws ConfigError for a file of the folder without an allowed digest */
  check(path: string, bytes: Uint8Array): void {
    const name = relative(this.#folder, path);
    if (name.startsWith('../')) return;
    const digestFile = join(
      this.#allowedDigests,
      `config.${hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), bytes]))}`,
    );
    this.#missed.delete(path);
    if (existsSync(digestFile)) return;
    this.#missed.set(path, digestFile);
    throw new ConfigError(
      `${path}: the operator did not write this content; its digest is not in the Secret of this server`,
    );
  }

  get missed(): string[] {
    return [...this.#missed.values()];
  }

  forget(): void {
    this.#missed.clear();
  }
}
