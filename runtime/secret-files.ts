import { createHmac } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError } from '#runtime/errors';
import type { Log } from '#runtime/telemetry/log';
import type { ListedFiles } from './listed-files.ts';

const MAX_BYTES = 1_048_576;

/** The files that a run configuration names: keys, secrets, certificates. Each is read once and again when it changed. */
export interface SecretFiles {
  /**
   * The content in force, without trailing line breaks. Cheap where the file was read before.
   * @throws ConfigError when it cannot be read; the message holds its name, never its content
   */
  readonly read: (file: string) => string;
  /** The same, byte for byte. */
  readonly readBytes: (file: string) => Uint8Array;
  /** Reads these again. One that cannot be read keeps its content. Returns those whose content is another now, or that can be read now. */
  readonly refresh: (files: readonly string[]) => string[];
  /** Forgets all others. */
  readonly keep: (files: readonly string[]) => void;
  /**
   * For each file a keyed HMAC-SHA256 of its bytes, in hex: who knows key and content can tell that it is in force.
   */
  readonly fingerprints: (key: string) => Record<string, string>;
}

interface Content {
  readonly bytes: Buffer;
  readonly text: string;
}

interface SecretFilesOptions {
  /** Relative names are taken from there. */
  folder: string;
  log: Log;
  /** Which files may be read; all, without. */
  listed?: ListedFiles | undefined;
}

export function createSecretFiles({ folder, log, listed }: SecretFilesOptions): SecretFiles {
  const contents = new Map<string, Content>();
  /** Named files that could not be read. */
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
      if (before) log.warn('file cannot be read any more; what it held stays in force', { file, error });
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

/**
 * Returns a function that reads files as `read` does and remembers what it read. While a file cannot be read, it returns the last
 * content: a part with former settings outlives the files that only those name.
 */
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
    // A pipe or a device would block the process or never end.
    if (!stat.isFile()) throw new Error('it is no regular file');
    if (stat.size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`);
    return readFileSync(path);
  } catch (cause) {
    throw new ConfigError(`${name}: ${readProblem(cause)}`, { cause });
  }
}

/** Why a file could not be read, in words and without its content. */
export function readProblem(cause: unknown): string {
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined;
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'there is no such file';
  if (code === 'EACCES' || code === 'EPERM') return 'this process may not read it';
  if (code === 'EISDIR') return 'it is a folder';
  return cause instanceof Error ? cause.message : String(cause);
}
