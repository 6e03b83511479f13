import { createHmac } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError } from '#runtime/errors';
import type { Log } from '#runtime/telemetry/log';
import type { ListedFiles } from './listed-files.ts';

const MAX_BYTES = 1_048_576;

/** Files that a run configuration names: keys, secrets, certificates. Each file is read once, and again after a change. */
export interface SecretFiles {
  /** Without trailing line breaks; cached. @throws ConfigError if the file is unreadable; the message names the file, never its content */
  readonly read: (file: string) => string;
  readonly readBytes: (file: string) => Uint8Array;
  /** Rereads these files. An unreadable file keeps its content. Returns the files that have changed or have become readable. */
  readonly refresh: (files: readonly string[]) => string[];
  /** Drops all other files. */
  readonly keep: (files: readonly string[]) => void;
  /** Returns a keyed HMAC-SHA256 (hex) of each file: with key and content, a reader can verify that the runtime uses the content. */
  readonly fingerprints: (key: string) => Record<string, string>;
}

interface Content {
  readonly bytes: Buffer;
  readonly text: string;
}

interface SecretFilesOptions {
  folder: string;
  log: Log;
  /** Checks which files may be read; absent: all. */
  listed?: ListedFiles | undefined;
}

export function createSecretFiles({ folder, log, listed }: SecretFilesOptions): SecretFiles {
  const contents = new Map<string, Content>();
  const missing = new Set<string>();

  function load(file: string): Content {
    missing.add(file);
    const bytes = readRegularFile(resolve(folder, file), file);
    listed?.check(resolve(folder, file), bytes);
    missing.delete(file);
    const content = { bytes, text: bytes.toString('utf8').replace(/[\r\n]+$/, '') };
    contents.set(file, content);
    return content;
  }

  function renew(file: string): boolean {
    const before = contents.get(file);
    if (before === undefined && !missing.has(file)) return false;
    try {
      const { bytes } = load(file);
      return before === undefined || !bytes.equals(before.bytes);
    } catch (error) {
      if (before) log.warn('file cannot be read any more; its former content stays active', { file, error });
      return false;
    }
  }

  return {
    read: (file) => (contents.get(file) ?? load(file)).text,
    readBytes: (file) => (contents.get(file) ?? load(file)).bytes,
    refresh: (files) => files.filter(renew),
    keep(files) {
      const wanted = new Set(files);
      for (const file of contents.keys()) if (!wanted.has(file)) contents.delete(file);
      for (const file of missing) if (!wanted.has(file)) missing.delete(file);
    },
    fingerprints(key) {
      const all: Record<string, string> = {};
      for (const [file, { bytes }] of contents) all[file] = createHmac('sha256', key).update(bytes).digest('hex');
      return all;
    },
  };
}

/** While a file is unreadable, returns the last content: a part with former settings outlives files that only those settings name. */
export function keepLastRead(read: SecretFiles['read']): SecretFiles['read'] {
  const contents = new Map<string, string>();
  return (file) => {
    try {
      const content = read(file);
      contents.set(file, content);
      return content;
    } catch (error) {
      const content = contents.get(file);
      if (content === undefined || !(error instanceof ConfigError)) throw error;
      return content;
    }
  };
}

function readRegularFile(path: string, name: string): Buffer {
  try {
    const stat = statSync(path);
    // Reading a pipe or a device would block the process or never end.
    if (!stat.isFile()) throw new Error('it is no regular file');
    if (stat.size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`);
    return readFileSync(path);
  } catch (cause) {
    throw new ConfigError(`${name}: ${readProblem(cause)}`, { cause });
  }
}

/** Returns why a file could not be read, without its content. */
export function readProblem(cause: unknown): string {
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined;
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'there is no such file';
  if (code === 'EACCES' || code === 'EPERM') return 'this process may not read it';
  if (code === 'EISDIR') return 'it is a folder';
  return cause instanceof Error ? cause.message : String(cause);
}
