interface Asking {
  /** Throws where who reads may not any more. */
  ask: () => Promise<void>;
  /** Milliseconds between two questions. */
  every: number;
  /** Aborted when it may not: its signal ends the lines. */
  refused: AbortController;
}

/** Lines that go on as long as who reads them may: a token ends and a right is taken away while a log is followed. */
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
    // A source that was told to end may say so.
    if (!refused.signal.aborted) throw problem;
  } finally {
    clearInterval(timer);
  }
}
