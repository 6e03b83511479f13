/** Exit code of wrappers and container engines after SIGKILL of their program: 128 and the number of the signal. */
const KILLED = 137;

/** Describes how a process ended, after its name. The signal is the kernel's only sign of exhausted memory. */
export function describeEnd(code: number | null, signal: NodeJS.Signals | null): string {
  const how = signal === null ? `exited with code ${code ?? 'unknown'}` : `was ended by ${signal}`;
  const isKilled = signal === 'SIGKILL' || code === KILLED;
  return isKilled ? `${how}: it was killed, as is what takes more memory than it may` : how;
}
