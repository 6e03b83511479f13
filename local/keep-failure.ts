import type { Readable } from 'node:stream';

/** Characters of the end of the output that are kept, and of the line that is told. */
const TAIL = 4096;
const LONGEST = 500;

/** Lines of the log, of a stack trace, and the one that Node prints after a stack trace. */
const NO_FAILURE = /^(?:[{\s]|Node\.js v)/;

/** Returns a function that returns the last line of a stream where it is plain text: a runtime that cannot start prints why. */
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
