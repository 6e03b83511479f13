/** The answer to a call is longer than allowed. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}

/** The whole body of an answer as text. @throws AnswerTooLarge, or the connection's error */
export async function readAnswer(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  return (await readBytes(body, maxBytes)).toString('utf8');
}

/** The whole body of an answer. @throws AnswerTooLarge, or the connection's error */
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

/** A code or class of a failed call's error: its message may hold parts of what was sent. */
export function faultOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return [code, name].find((word) => typeof word === 'string') ?? 'unknown error';
}
