import { closeSync, constants, fstatSync, openSync, write as writeWithCallback } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { promisify } from 'node:util';
import { codeOf } from '#lib/files/write-file';
import { explainAppend, NO_REGULAR_FILE, STANDARD_STREAMS } from '#lib/files/explain-append';
import { ConfigError } from '#runtime/errors';
import { readProblem } from '#runtime/secret-files';

const write = promisify(writeWithCallback);

export interface Sink {
  /** Writes some of these bytes and returns their number. */
  write(bytes: Buffer): Promise<number>;
  reopen(): void;
  close(): void;
}

/** Returns a sink for a stream of another owner, such as standard output. The sink never closes it. */
export function streamSink(stream: Writable): Sink {
  // Without a listener, a closed reader would end the process. Each write reports its own failure.
  const ignore = () => undefined;
  stream.on('error', ignore);
  return {
    write: (bytes) =>
      new Promise((resolve, reject) => {
        stream.write(bytes, (error) => (error ? reject(error) : resolve(bytes.length)));
      }),
    reopen: () => undefined,
    close: () => stream.off('error', ignore),
  };
}

const LOOK_EVERY = 1_000;

/** Returns a sink that appends to a file, reopened within a second after a rotation. @throws ConfigError if it cannot be opened now */
export function fileSink(path: string, now: () => number): Sink {
  let descriptor = openAppending(path);
  let lookAt = now() + LOOK_EVERY;

  function reopen(): void {
    const next = openAppending(path);
    closeSync(descriptor);
    descriptor = next;
  }

  async function followRotation(): Promise<void> {
    if (now() < lookAt) return;
    lookAt = now() + LOOK_EVERY;
    const there = await stat(path).catch(() => undefined);
    if (there?.ino !== fstatSync(descriptor).ino) reopen();
  }

  return {
    async write(bytes) {
      await followRotation();
      const { bytesWritten } = await write(descriptor, bytes, 0, bytes.length, null);
      return bytesWritten;
    },
    reopen,
    close: () => closeSync(descriptor),
  };
}

const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;

function openAppending(path: string): number {
  let descriptor: number;
  try {
    descriptor = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o640);
  } catch (cause) {
    throw new ConfigError(`audit log ${path}: ${explainAppend(codeOf(cause)) ?? readProblem(cause)}`, { cause });
  }
  const stat = fstatSync(descriptor);
  // A pipe without a reader would block the process.
  if (stat.isFile() || stat.isCharacterDevice() || STANDARD_STREAMS.has(path)) return descriptor;
  closeSync(descriptor);
  throw new ConfigError(`audit log ${path}: ${NO_REGULAR_FILE}`);
}
