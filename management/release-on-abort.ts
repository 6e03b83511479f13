/** Calls `release` when the signal is aborted, or at once if it is aborted already. */
export function releaseOnAbort(signal: AbortSignal, release: () => void): void {
  if (signal.aborted) release();
  else signal.addEventListener('abort', release, { once: true });
}
