interface Asking {
  /** Throws if the reader is no longer allowed. */
  ask: () => Promise<void>;
  /** Milliseconds between two checks. */
  every: number;
  /** Aborted when the reader is no longer allowed; its signal ends the lines. */
  refused: AbortController;
}

/** Rechecks, because the reader's token can expire and its permission can be revoked while it follows a log. */
export async function* whileAllowed(
  lines: AsyncIterable<string>,
  { ask, every, refused }: Asking,
): AsyncGenerator<string, void, void> {
  const timer = setInterval(() => {
    ask().catch(() => refused.abort());
  }, every);
  try {
    for await (const line of lines) {
      if (refused.signal.aborted) return;
      yield line;
    }
  } catch (problem) {
    // An aborted source may throw an error for the abort.
    if (!refused.signal.aborted) throw problem;
  } finally {
    clearInterval(timer);
  }
}
