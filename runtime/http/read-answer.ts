/** The answer to a call exceeds its size limit. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}

/** Returns the whole body of an answer as text. @throws AnswerTooLarge, or the connection's error */
export async function readAnswer(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  return (await readBytes(body, maxBytes)).toString('utf8');
}

/** Returns the whole body of an answer. @throws AnswerTooLarge, or the connection's error */
export async function readBytes(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw new AnswerTooLarge(`the answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Returns the code or class of a failed call's error. Its message may contain parts of the request. */
export function faultOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return [code, name].find((word) => typeof word === 'string') ?? 'unknown error';
}
