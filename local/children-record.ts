import { z } from 'zod';
import { isRunning, ProcessIdentity } from './process-identity.ts';
import type { StateFolder } from './state-folder.ts';
import { readIfThere, writeFileAtomic } from '#lib/files/write-file';

const Children = z.array(z.object({ name: z.string(), ...ProcessIdentity.shape }));

/** The next vmcp ends the recorded processes if this one is killed. */
export function recordChildren(state: StateFolder, children: ({ name: string } & ProcessIdentity)[]): void {
  writeFileAtomic(state.children, `${JSON.stringify(children, null, 2)}\n`);
}

/** Ends process groups. Returns the names of the processes. */
export function endLeftovers(state: StateFolder): string[] {
  const recorded = readIfThere(state.children);
  if (recorded === undefined) return [];
  let children: z.infer<typeof Children>;
  try {
    children = Children.parse(JSON.parse(recorded));
  } catch {
    return [];
  }
  const left = children.filter((child) => isRunning(child));
  for (const child of left) {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The process has already ended.
    }
  }
  recordChildren(state, []);
  return left.map((child) => child.name);
}
