import { request } from 'node:http';
import type { Operation } from '../operation.ts';
import { filledPath } from './filled-path.ts';
import { type ServedOperations, TOKEN } from './serve-operations.ts';

/** Request to an operation. */
export interface Asked {
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  /** Raw bytes instead of a body. */
  raw?: Buffer;
  headers?: Record<string, string>;
}

export interface Told {
  status: number;
  /** Media type. */
  type: string;
  /** Parsed if it is JSON. */
  body: unknown;
  etag: string;
}

/** Sends a request over HTTP, by default with the token; it can also send requests that a browser would not. */
export async function askOperation(
  { url }: Pick<ServedOperations, 'url'>,
  { method, path }: Operation,
  { params = {}, query = {}, body, raw, headers = {} }: Asked,
): Promise<Told> {
  const sent = raw ?? (body === undefined ? undefined : Buffer.from(JSON.stringify(body)));
  const search = new URLSearchParams(query).toString();
  const { promise, resolve, reject } = Promise.withResolvers<Told>();
  const asking = request(`${url}${filledPath(path, params)}${search === '' ? '' : `?${search}`}`, {
    method,
    agent: false,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      ...(sent && { 'content-type': 'application/json', 'content-length': String(sent.length) }),
      ...headers,
    },
  });
  // A server that rejects a long body closes the connection early; its answer is valid.
  asking.on('error', reject);
  asking.on('response', (response) => {
    const pieces: Buffer[] = [];
    response.on('data', (piece: Buffer) => pieces.push(piece));
    response.on('error', reject);
    response.on('end', () => {
      const text = Buffer.concat(pieces).toString('utf8');
      const type = response.headers['content-type']?.split(';')[0] ?? '';
      resolve({
        status: response.statusCode ?? 0,
        type,
        body: type.endsWith('json') ? JSON.parse(text) : text,
        etag: response.headers.etag ?? '',
      });
    });
  });
  asking.end(sent);
  return promise;
}
