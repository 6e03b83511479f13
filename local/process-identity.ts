import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { codeOf } from '#lib/files/code-of';

/** A process that can be told from a later one with the same id. */
export const ProcessIdentity = z.object({
  pid: z.int().positive(),
  /** When it started, in the system's own notation; only equality means anything. */
  started: z.string(),
});
export type ProcessIdentity = z.infer<typeof ProcessIdentity>;

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (problem) {
    return codeOf(problem) === 'EPERM';
  }
}

function startFromProc(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // proc(5): the command name may hold spaces and brackets; fields are counted after its last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' ? undefined : fields[19];
}

/** When the process with this id started; undefined when there is none (or only its zombie). */
export function startOf(pid: number): string | undefined {
  if (!isThere(pid)) return undefined;
  try {
    return process.platform === 'linux'
      ? startFromProc(pid)
      : execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', timeout: 5000 }).trim() ||
          undefined;
  } catch {
    return undefined;
  }
}

/** Whether that very process still runs. */
export function isRunning(identity: ProcessIdentity): boolean {
  return startOf(identity.pid) === identity.started;
}
