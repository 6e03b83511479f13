import { readdirSync, readFileSync } from 'node:fs';
import { until } from '../gateway/until.ts';
import type { Checks } from './report.ts';

/** Verifies that the stdio members have ended with their gateways, and ends the others. */
export async function checkLeftProcesses(checks: Checks, part: string, folder: string): Promise<void> {
  await until('the end of all stdio members', () => processesOf(folder).length === 0).catch(() => undefined);
  const left = processesOf(folder);
  for (const pid of left) process.kill(pid, 'SIGKILL');
  checks.check(`${part}: no stdio process is left`, left.length > 0 ? `${left.length} are left` : undefined);
}

/** Returns the ids of processes whose arguments contain this folder. A stdio member has its pid file there. */
function processesOf(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && argumentsOf(name).includes(`${folder}/`))
    .map(Number);
}

function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    // The process has ended.
    return '';
  }
}
