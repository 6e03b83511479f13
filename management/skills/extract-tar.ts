import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { Problem } from '../problem.ts';
import { Space, unusable } from './skill-limits.ts';
import { unpackingFailed } from './unpacking-failed.ts';
import { FileWriter } from './write-files.ts';

export interface Extraction {
  signal: AbortSignal;
  /** Shared limit of this skill and those installed with it; by default its own. */
  space?: Space;
}

/** Bytes allowed for headers and padding, in addition to the content. */
const OVERHEAD = 16 * 1024 * 1024;

/** Accepts only files and folders within the limits of a skill, with or without gzip. @throws Problem `bad_request` */
export async function extractTar(
  archive: AsyncIterable<Buffer>,
  folder: string,
  { signal, space = new Space() }: Extraction,
): Promise<void> {
  const [first, whole] = await peek(archive);
  const isCompressed = first.length > 1 && first[0] === 0x1f && first[1] === 0x8b;
  const entries = extract();
  const unpacking = pipeline(
    [Readable.from(whole), ...(isCompressed ? [createGunzip()] : []), bounded(space), entries],
    { signal },
  );
  const writing = writeEntries(entries, new FileWriter(folder, space), space).catch((error: unknown) => {
    entries.destroy(error instanceof Error ? error : new Error(String(error)));
    throw error;
  });
  const [unpacked, written] = await Promise.allSettled([unpacking, writing]);
  if (written.status === 'rejected' && written.reason instanceof Problem) throw written.reason;
  signal.throwIfAborted();
  for (const one of [unpacked, written]) if (one.status === 'rejected') throw unpackingFailed(one.reason);
}

async function writeEntries(entries: ReturnType<typeof extract>, writer: FileWriter, space: Space): Promise<void> {
  let count = 0;
  for await (const entry of entries) {
    const { name, type, mode, size } = entry.header;
    count += 1;
    if (type === 'directory') {
      await writer.addFolder(name);
      entry.resume();
    } else if (type === 'file' || type === 'contiguous-file') {
      if (size > space.left) throw space.exceeded();
      await writer.addFile(name, entry, (mode & 0o111) !== 0);
    } else throw unusable(`${JSON.stringify(name)} is a ${type}: a skill has files and folders alone`);
  }
  if (count === 0) throw unusable('the archive is empty, or no tar archive');
}

/** A small archive may expand to a large one. */
function bounded(space: Space): Transform {
  const most = space.left + OVERHEAD;
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > most) done(space.exceeded());
      else done(null, chunk);
    },
  });
}

async function peek(chunks: AsyncIterable<Buffer>): Promise<[Buffer, AsyncIterable<Buffer>]> {
  const reading = chunks[Symbol.asyncIterator]();
  let first = Buffer.alloc(0);
  for (let next = await reading.next(); next.done !== true; next = await reading.next()) {
    first = Buffer.concat([first, next.value]);
    if (first.length >= 2) break;
  }
  const whole = async function* () {
    try {
      yield first;
      for (let next = await reading.next(); next.done !== true; next = await reading.next()) yield next.value;
    } finally {
      await reading.return?.();
    }
  };
  return [first, whole()];
}
