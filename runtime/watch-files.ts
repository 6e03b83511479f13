import { hash } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { Log } from '#runtime/telemetry/log';

interface WatchOptions {
  /** Called with the files whose content has changed, or that appeared or disappeared. Calls do not overlap. */
  readonly onChange: (files: readonly string[]) => Promise<void> | void;
  readonly log: Log;
  /** Milliseconds between two checks without a notification; default 5 s. */
  readonly interval?: number;
  /** Milliseconds without further notification before a check; default 100. */
  readonly debounce?: number;
}

interface Seen {
  /** Identity, size and times. While they are unchanged, a poll does not read the file. */
  readonly signature: string;
  readonly digest: string;
}

const MISSING = 'missing';

/** Notifications of folders also show a replaced file and Kubernetes' swapped `..data`. Polling covers file systems without them. */
export class FileWatch {
  readonly #options: WatchOptions;
  readonly #seen = new Map<string, Seen>();
  readonly #folders = new Map<string, FSWatcher>();
  readonly #poll: NodeJS.Timeout;
  #quiet: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#poll = setInterval(() => void this.#enqueue(false), options.interval ?? 5_000).unref();
  }

  /** Replaces the set of watched files. The present content of a new file counts as seen. */
  async watch(files: readonly string[]): Promise<void> {
    const wanted = new Set(files);
    for (const file of this.#seen.keys()) if (!wanted.has(file)) this.#seen.delete(file);
    for (const file of wanted) {
      if (this.#seen.has(file)) continue;
      const signature = await signatureOf(file);
      this.#seen.set(file, { signature, digest: await digestOf(file, signature) });
    }
    this.#followFolders();
  }

  check(): Promise<void> {
    return this.#enqueue(true);
  }

  /** Calls `onChange` without files, between two checks. */
  changed(): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#closed) await this.#options.onChange([]);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#poll);
    clearTimeout(this.#quiet);
    for (const folder of this.#folders.keys()) this.#unfollow(folder);
    await this.#running;
  }

  #enqueue(readAll: boolean): Promise<void> {
    return this.#inTurn(() => this.#look(readAll));
  }

  /** Runs checks one after the other, so that each change is reported once and in order. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#running = this.#running
      .then(work)
      .catch((error: unknown) => this.#options.log.error('watching files failed', { error }));
    return this.#running;
  }

  async #look(readAll: boolean): Promise<void> {
    if (this.#closed) return;
    this.#followFolders();
    const changed: string[] = [];
    for (const [file, before] of this.#seen) {
      const signature = await signatureOf(file);
      if (signature === before.signature && !readAll) continue;
      const digest = await digestOf(file, signature);
      this.#seen.set(file, { signature, digest });
      if (digest !== before.digest) changed.push(file);
    }
    if (changed.length > 0) await this.#options.onChange(changed);
  }

  #followFolders(): void {
    if (this.#closed) return;
    const wanted = new Set([...this.#seen.keys()].map((file) => dirname(file)));
    for (const folder of this.#folders.keys()) if (!wanted.has(folder)) this.#unfollow(folder);
    for (const folder of wanted) if (!this.#folders.has(folder)) this.#follow(folder);
  }

  #follow(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => {
        if (this.#concerns(folder, name)) this.#noticed();
      });
      watcher.on('error', () => this.#unfollow(folder));
      this.#folders.set(folder, watcher);
    } catch {
      // If the folder is missing, or the kernel has no watch left, polling still detects changes.
    }
  }

  /** Other files of the folder, such as a log, may change continuously. Kubernetes swaps `..data`. */
  #concerns(folder: string, name: string | null): boolean {
    if (name === null || name.startsWith('..')) return true;
    for (const file of this.#seen.keys()) if (basename(file) === name && dirname(file) === folder) return true;
    return false;
  }

  #unfollow(folder: string): void {
    this.#folders.get(folder)?.close();
    this.#folders.delete(folder);
  }

  #noticed(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => void this.#enqueue(true), this.#options.debounce ?? 100).unref();
  }
}

async function signatureOf(file: string): Promise<string> {
  try {
    const found = await stat(file, { bigint: true });
    // Opens only regular files: opening a pipe could block forever.
    return found.isFile() ? `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}` : MISSING;
  } catch {
    return MISSING;
  }
}

async function digestOf(file: string, signature: string): Promise<string> {
  if (signature === MISSING) return MISSING;
  try {
    return hash('sha256', await readFile(file));
  } catch {
    return MISSING;
  }
}
