import { type Dispatcher, request } from 'undici';
import { readAnswer } from '#runtime/http/read-answer';

export interface FormAnswer {
  readonly status: number;
  /** Media type in lower case, without parameters. */
  readonly mediaType: string;
  readonly body: string;
}

interface PostOptions {
  readonly dispatcher: Dispatcher;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds for the whole answer. */
  readonly deadline: number;
  readonly maxBytes: number;
  /** Never sends the form twice. */
  readonly isSingleUse?: boolean;
}

/** The answer exceeded the deadline. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/**
 * Posts a form and reads the whole answer of any status. Follows no redirect. Unless the form is for single use, retries once if the
 * connection breaks before an answer, as the server may just have closed an idle one. @throws DeadlineExceeded, AnswerTooLarge, or the connection's error
 */
export async function postForm(url: string, form: URLSearchParams, options: PostOptions): Promise<FormAnswer> {
  const signal = AbortSignal.timeout(options.deadline);
  try {
    return await send(url, form, options, signal).catch((error: unknown) => {
      if (codeOf(error) !== 'UND_ERR_SOCKET' || signal.aborted || options.isSingleUse === true) throw error;
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
  const text = await readAnswer(body as AsyncIterable<Buffer>, options.maxBytes);
  const contentType = headers['content-type'];
  const mediaType = typeof contentType === 'string' ? (contentType.split(';')[0] ?? '').trim().toLowerCase() : '';
  return { status: statusCode, mediaType, body: text };
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
