import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/**
 * Returns the CPU time of a process, user and system, in microseconds. It reads the scheduler's record of each thread
 * (nanoseconds). A kernel without that record has /proc/<pid>/stat (hundredths of a second).
 */
export function cpuMicros(pid: number): number {
  try {
    let nanoseconds = 0;
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
    }
    return nanoseconds / 1_000;
  } catch {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return ((Number(fields[11]) + Number(fields[12])) * 1_000_000) / TICKS_PER_SECOND;
  }
}

/** Returns the resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  return memoryOf(pid, 'VmRSS');
}

/** Returns the peak of a process's resident memory since `resetPeak`, in bytes. */
export function peakBytes(pid: number): number {
  return memoryOf(pid, 'VmHWM');
}

/** Resets the peak (proc(5), clear_refs). */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) * 1024;
}
