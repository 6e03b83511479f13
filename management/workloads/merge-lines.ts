/** Longer ones come in parts. Characters. */
export const LONGEST_LINE = 256 * 1024;

/** Lines of a text that comes in pieces, each with its line break. */
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

/**
 * What several give, as it comes; ends when all have. What one throws is thrown when the others were heard before it. Nothing is kept
 * but one line of each: a source is asked for the next one when its last one is taken.
 */
export async function* mergeLines(sources: readonly AsyncGenerator<string>[]): AsyncGenerator<string, void, void> {
  const told: Told[] = [];
  // A new one for each wait. A race of what the sources promise would hang each line on the promise of one that says nothing.
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
    // Who waits for its next line cannot be told to stop: its signal does.
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
