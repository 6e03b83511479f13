import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { codeOf } from '#lib/files/write-file';

/** Stays unique after the system reuses the id. */
export const ProcessIdentity = z.object({
  pid: z.int().positive(),
  /** In the system's own notation; only equality is meaningful. */
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
  // proc(5): the command name may contain spaces and brackets, so fields are counted after its last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' ? undefined : fields[19];
}

/** Returns undefined when the process does not exist or is a zombie. */
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

export function isRunning(identity: ProcessIdentity): boolean {
  return startOf(identity.pid) === identity.started;
}
