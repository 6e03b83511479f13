import type { Readable } from 'node:stream';

/** Characters from the end of the output, and of the reported line. */
const TAIL = 4096;
const LONGEST = 500;

/** Matches log lines, stack trace lines, and the line that Node prints after a stack trace. */
const NO_FAILURE = /^(?:[{\s]|Node\.js v)/;

/** Returns the last line if it is plain text, because a runtime that cannot start prints the reason. */
export function keepFailure(stream: Readable): () => string | undefined {
  let tail = '';
  stream.on('data', (chunk: Buffer) => {
    tail = (tail + chunk.toString()).slice(-TAIL);
  });
  return () => {
    const last = tail.trimEnd().split('\n').at(-1) ?? '';
    return last === '' || NO_FAILURE.test(last) ? undefined : last.slice(0, LONGEST);
  };
}
