import { FetchFailure } from './fetch-failure.ts';
import { failureOf, type HttpAnswer } from './http-client.ts';
import { type Amounts, excessOf } from '#operator/json-amounts';

/** @throws FetchFailure `unexpected` above `maxBytes`; otherwise the connection error */
export async function* boundedBody(answer: HttpAnswer, maxBytes: number): AsyncGenerator<Buffer> {
  const { body, headers, url } = answer;
  const tooLong = new FetchFailure('unexpected', `${url.host} answered more than ${maxBytes} bytes`);
  let bytes = 0;
  try {
    if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLong;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLong;
      yield chunk;
    }
  } catch (error) {
    throw failureOf(error, url, '');
  } finally {
    // Destroying an unread body emits an error, which is ignored.
    body.on('error', () => undefined);
    body.destroy();
  }
}

/** @throws FetchFailure */
export async function readBody(answer: HttpAnswer, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of boundedBody(answer, maxBytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export interface JsonBounds extends Amounts {
  bytes: number;
}

/** @throws FetchFailure */
export async function readJson(
  answer: HttpAnswer,
  { bytes, ...amounts }: JsonBounds,
  parse: (text: string) => unknown = JSON.parse,
): Promise<unknown> {
  const text = (await readBody(answer, bytes)).toString('utf8');
  const { host, pathname } = answer.url;
  const excess = excessOf(text, amounts);
  if (excess !== undefined) throw new FetchFailure('unexpected', `${host} answered ${excess}`);
  try {
    return parse(text);
  } catch (cause) {
    throw new FetchFailure('unexpected', `${host}${pathname} did not answer JSON`, { cause });
  }
}
