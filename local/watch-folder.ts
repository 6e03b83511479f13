import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#operator/queue';
import { codeOf } from '#lib/files/code-of';

/** An editor writes a file in several steps: changes are looked at when it has been quiet for so long. */
const QUIET = 100;
/** Where the system tells nothing (network folders, containers), the folder is looked at so often. */
const LOOK = 2000;

/** Names, sizes and times of the YAML files of a folder, as one text that differs when a file does. */
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

/** Calls `changed` after the YAML files of a folder changed. Returns the function that ends it. */
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
