/** Characters; a longer line is yielded in parts. */
export const LONGEST_LINE = 256 * 1024;

export async function* linesIn(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield `${line}\n`;
    for (; rest.length > LONGEST_LINE; rest = rest.slice(LONGEST_LINE)) yield `${rest.slice(0, LONGEST_LINE)}\n`;
  }
  if (rest !== '') yield `${rest}\n`;
}

/** Merges in the order of arrival and buffers one line per source. Throws an error after the earlier lines of the others. */
export async function* mergeLines(sources: readonly AsyncGenerator<string>[]): AsyncGenerator<string, void, void> {
  const told: Told[] = [];
  // Each wait has a new promise. With a race over the sources, every line would stay referenced by the promise of a silent source.
  let woken = Promise.withResolvers<undefined>();
  const ask = (source: AsyncGenerator<string>): void => {
    void answerOf(source).then((answer) => {
      told.push({ source, answer });
      woken.resolve(undefined);
    });
  };
  try {
    for (const source of sources) ask(source);
    for (let open = sources.length; open > 0;) {
      const next = told.shift();
      if (next) {
        const result = next.answer();
        if (result.done === true) open -= 1;
        else {
          ask(next.source);
          yield result.value;
        }
      } else {
        await woken.promise;
        woken = Promise.withResolvers<undefined>();
      }
    }
  } finally {
    // A source that waits for its next line can only be stopped by its signal.
    for (const source of sources) source.return(undefined).catch(() => undefined);
  }
}

interface Told {
  source: AsyncGenerator<string>;
  /** Throws what the source threw. */
  answer: () => IteratorResult<string, unknown>;
}

async function answerOf(source: AsyncGenerator<string>): Promise<Told['answer']> {
  try {
    const result: IteratorResult<string, unknown> = await source.next();
    return () => result;
  } catch (problem) {
    return () => {
      throw problem;
    };
  }
}
