/** Longer ones come in parts. Characters. */
const LONGEST_LINE = 256 * 1024;

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

/** What several give, as it comes; ends when all have. What one throws is thrown when the others were heard before it. */
export async function* mergeLines(sources: readonly AsyncGenerator<string>[]): AsyncGenerator<string, void, void> {
  const awaited = new Map(sources.map((source, index) => [index, nextOf(source, index)] as const));
  try {
    while (awaited.size > 0) {
      const { index, result } = await Promise.race(awaited.values());
      const source = sources[index];
      if (result.done === true || !source) awaited.delete(index);
      else {
        awaited.set(index, nextOf(source, index));
        yield result.value;
      }
    }
  } finally {
    for (const turn of awaited.values()) turn.catch(() => undefined);
    // Who waits for its next line cannot be told to stop: its signal does.
    for (const source of sources) source.return(undefined).catch(() => undefined);
  }
}

async function nextOf(source: AsyncGenerator<string>, index: number) {
  return { index, result: await source.next() };
}
