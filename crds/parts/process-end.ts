/** What wrappers and container engines end with when SIGKILL ended what they ran: 128 and the signal's number. */
const KILLED = 137;

/** How a process ended, in words that follow its name. A kernel tells nobody but by the signal that memory was why. */
export function describeEnd(code: number | null, signal: NodeJS.Signals | null): string {
  const how = signal === null ? `exited with code ${code ?? 'unknown'}` : `was ended by ${signal}`;
  const isKilled = signal === 'SIGKILL' || code === KILLED;
  return isKilled ? `${how}: it was killed, as is what takes more memory than it may` : how;
}
