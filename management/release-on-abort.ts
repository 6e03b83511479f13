/** Calls `release` once the signal is aborted; at once if it is aborted already. */
export function releaseOnAbort(signal: AbortSignal, release: () => void): void {
  if (signal.aborted) release();
  else signal.addEventListener('abort', release, { once: true });
}
