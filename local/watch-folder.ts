import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#operator/queue';
import { codeOf } from '#lib/files/write-file';

/** Milliseconds without an event before changes are read, because an editor writes a file in several steps. */
const QUIET = 100;
/** Milliseconds between two polls, for systems without events (network folders, containers). */
const LOOK = 2000;

function signature(folder: string): string {
  try {
    const names = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name));
    return names
      .map((name) => {
        const entry = statSync(join(folder, name), { throwIfNoEntry: false });
        return `${name} ${entry?.size ?? '-'} ${entry?.mtimeMs ?? '-'} ${entry?.ino ?? '-'}`;
      })
      .join('\n');
  } catch (problem) {
    return codeOf(problem) ?? 'unknown';
  }
}

function systemWatcher(folder: string, noticed: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, noticed);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}

export function watchFolder(folder: string, clock: Clock, changed: () => void): () => void {
  let seen = signature(folder);
  let cancelQuiet: (() => void) | undefined;
  let cancelLook: (() => void) | undefined;

  function compare(): void {
    const now = signature(folder);
    if (now === seen) return;
    seen = now;
    changed();
  }
  function noticed(): void {
    cancelQuiet?.();
    cancelQuiet = clock.after(QUIET, compare);
  }
  function look(): void {
    cancelLook = clock.after(LOOK, () => {
      compare();
      look();
    });
  }

  const watcher = systemWatcher(folder, noticed);
  look();
  return () => {
    cancelQuiet?.();
    cancelLook?.();
    watcher?.close();
  };
}
