import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Space } from './skill-limits.ts';

/** Milliseconds between two checks. */
const PAUSE = 200;

interface Watched {
  folder: string;
  space: Space;
  signal: AbortSignal;
}

/** Aborts another program's work when it has written too much. @throws Problem `bad_request`, or what `work` throws */
export async function watchSize<T>(
  { folder, space, signal }: Watched,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const grown = new AbortController();
  let looking = false;
  const look = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    if ((await sizeOf(folder)) > space.left) grown.abort();
    looking = false;
  };
  const timer = setInterval(() => void look(), PAUSE);
  try {
    const done = await work(AbortSignal.any([signal, grown.signal]));
    if ((await sizeOf(folder)) > space.left) throw space.exceeded();
    return done;
  } catch (error) {
    throw grown.signal.aborted ? space.exceeded() : error;
  } finally {
    clearInterval(timer);
  }
}

async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []))
    if (entry.isFile())
      bytes += await stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      );
  return bytes;
}
