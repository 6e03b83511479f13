import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

const DEADLINE = 5000;
const LARGEST = 1_048_576;

export interface Question {
  method?: 'GET' | 'POST' | 'DELETE';
  /** `Host` may differ from the URL. */
  headers?: Record<string, string>;
  body?: string;
}

/** Redirects are not followed; only the beginning of an event stream is read. */
export interface Answer {
  url: string;
  status: number;
  headers: Readonly<Record<string, string>>;
  text: string;
}

/** The message names the reason in plain words. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

export const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was broken off',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  EHOSTUNREACH: 'the host cannot be reached',
  ETIMEDOUT: 'the host does not answer',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed: set NODE_EXTRA_CA_CERTS to the file of its authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is of an unknown authority: set NODE_EXTRA_CA_CERTS to that file',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is of an unknown authority: set NODE_EXTRA_CA_CERTS to that file',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  EPROTO: 'it does not speak TLS: try http',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS: try http',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS: try http',
};

function noAnswer(url: string, cause: NodeJS.ErrnoException): NoAnswer {
  const reason = cause instanceof NoAnswer ? cause.message : (REASONS[cause.code ?? ''] ?? cause.message);
  return new NoAnswer(`${url}: ${reason}`, { cause });
}

function singleValues(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}

const isHttp = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

/** @throws NoAnswer, also after 5 s or beyond 1 MiB */
export function ask(url: string, { method = 'GET', headers = {}, body }: Question = {}): Promise<Answer> {
  if (!isHttp(url)) return Promise.reject(new NoAnswer(`${url}: it is no http or https URL`));
  const target = new URL(url);
  const send = target.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(DEADLINE);
    const fail = (cause: NodeJS.ErrnoException): void =>
      reject(noAnswer(url, signal.aborted ? new NoAnswer(`it did not answer within ${DEADLINE / 1000} s`) : cause));
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const question = send(target, { method, headers: { ...length, ...headers }, signal, agent: false }, (answer) => {
      let text = '';
      const done = (): void => {
        resolve({ url, status: answer.statusCode ?? 0, headers: singleValues(answer.headers), text });
        question.destroy();
      };
      if (answer.headers['content-type']?.startsWith('text/event-stream') === true && method === 'GET') {
        done();
        return;
      }
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        if (text.length > LARGEST) question.destroy(new NoAnswer('it answers with more than 1 MiB'));
      });
      answer.on('end', done).on('error', fail);
    });
    question.on('error', fail).end(body);
  });
}

export function objectIn({ text, headers }: Answer): Record<string, unknown> | undefined {
  const stream = headers['content-type']?.startsWith('text/event-stream') === true;
  const json = stream ? (/^data: ?(.+)$/m.exec(text)?.[1] ?? '') : text;
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
