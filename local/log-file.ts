import { existsSync, renameSync, statSync, truncateSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Writable } from 'node:stream';

/** Bytes; then the file is renamed to `<name>.1`, replacing the previous one. */
const LIMIT = 10 * 1024 * 1024;

class LogFile extends Writable {
  readonly #path: string;
  readonly #limit: number;
  #handle: FileHandle | undefined;
  #size = 0;

  constructor(path: string, limit: number) {
    super();
    this.#path = path;
    this.#limit = limit;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (problem?: Error | null) => void): void {
    this.#append(chunk).then(() => done(), done);
  }

  override _final(done: (problem?: Error | null) => void): void {
    this.#close().then(() => done(), done);
  }

  async #append(chunk: Buffer): Promise<void> {
    if (this.#handle && this.#size + chunk.length > this.#limit) {
      await this.#close();
      renameSync(this.#path, `${this.#path}.1`);
    }
    if (!this.#handle) {
      this.#handle = await open(this.#path, 'a', 0o600);
      this.#size = (await this.#handle.stat()).size;
    }
    await this.#handle.write(chunk);
    this.#size += chunk.length;
  }

  async #close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }
}

/** Uses mode 0600. Keeps `limit` bytes, plus as many in the previous file. */
export function openLogFile(path: string, limit = LIMIT): Writable {
  return new LogFile(path, limit);
}

/** Other processes may hold the log open. */
export function boundLog(path: string, limit = LIMIT): void {
  if (existsSync(path) && statSync(path).size > limit) truncateSync(path, 0);
}
