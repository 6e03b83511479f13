/** Releases at once if the signal is aborted already. */
export function releaseOnAbort(signal: AbortSignal, release: () => void): void {
  if (signal.aborted) release();
  else signal.addEventListener('abort', release, { once: true });
}
