import { type Dispatcher, request } from 'undici';

export interface FormAnswer {
  readonly status: number;
  /** Media type in lower case, without parameters. */
  readonly mediaType: string;
  readonly body: string;
}

export interface PostOptions {
  readonly dispatcher: Dispatcher;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds until the whole answer must be here. */
  readonly deadline: number;
  readonly maxBytes: number;
}

/** The answer did not come in time. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/** The answer is longer than allowed. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}

/**
 * Posts a form and reads the whole answer, whatever its status; follows no redirect.
 * Tries once more where the connection broke before an answer began, as an idle one may be closed just then.
 * @throws DeadlineExceeded, AnswerTooLarge, or the connection's error
 */
export async function postForm(url: string, form: URLSearchParams, options: PostOptions): Promise<FormAnswer> {
  const signal = AbortSignal.timeout(options.deadline);
  try {
    return await send(url, form, options, signal).catch((error: unknown) => {
      if (codeOf(error) !== 'UND_ERR_SOCKET' || signal.aborted) throw error;
      return send(url, form, options, signal);
    });
  } catch (error) {
    if (signal.aborted) throw new DeadlineExceeded(`no answer within ${options.deadline} ms`, { cause: error });
    throw error;
  }
}

async function send(
  url: string,
  form: URLSearchParams,
  options: PostOptions,
  signal: AbortSignal,
): Promise<FormAnswer> {
  const { statusCode, headers, body } = await request(url, {
    method: 'POST',
    dispatcher: options.dispatcher,
    signal,
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json', ...options.headers },
    body: form.toString(),
  });
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > options.maxBytes) throw new AnswerTooLarge(`answer over ${options.maxBytes} bytes`);
    chunks.push(chunk);
  }
  const contentType = headers['content-type'];
  const mediaType = typeof contentType === 'string' ? (contentType.split(';')[0] ?? '').trim().toLowerCase() : '';
  return { status: statusCode, mediaType, body: Buffer.concat(chunks).toString('utf8') };
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
