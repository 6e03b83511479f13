import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/**
 * CPU time of a process so far, in microseconds, user and system. Read from the scheduler's account of each thread
 * (nanoseconds); where the kernel does not keep it, from /proc/<pid>/stat (hundredths of a second).
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

/** Resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  return memoryOf(pid, 'VmRSS');
}

/** The most resident memory that a process had since `resetPeak`, in bytes. */
export function peakBytes(pid: number): number {
  return memoryOf(pid, 'VmHWM');
}

/** Begins to measure the peak anew (proc(5), clear_refs). */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) * 1024;
}
