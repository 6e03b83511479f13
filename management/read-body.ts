import type { IncomingMessage } from 'node:http';
import { excessOf } from '#operator/json-amounts';
import { BOUNDS } from './memory-bounds.ts';
import { Problem } from './problem.ts';

const { one: LONGEST_BODY, short: SHORT_BODY } = BOUNDS.bodies;

const MOST = { values: 20_000, depth: 100 };

const NOT_JSON = 'send the body as application/json in UTF-8, not compressed';

/** Returns undefined without a body. @throws Problem `unsupported_media_type`, `too_large`, `bad_request` */
export async function readBody(request: IncomingMessage): Promise<unknown> {
  const { 'transfer-encoding': chunked, 'content-length': length = '0' } = request.headers;
  if (chunked === undefined && length === '0') return undefined;
  if (!isPlainJson(request)) throw new Problem('unsupported_media_type', NOT_JSON);
  if (Number(length) > LONGEST_BODY) throw tooLarge();
  return parse(await readBytes(request));
}

function isPlainJson({ headers }: IncomingMessage): boolean {
  const type = /^application\/json *(;.*)?$/i.exec(headers['content-type'] ?? '');
  const charset = /charset="?([\w-]+)/i.exec(type?.[1] ?? '')?.[1] ?? 'utf-8';
  const coding = headers['content-encoding'] ?? 'identity';
  return type !== null && charset.toLowerCase() === 'utf-8' && coding === 'identity';
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += part.length;
      if (length > LONGEST_BODY) break;
      parts.push(part);
    }
  } catch (cause) {
    throw new Problem('bad_request', 'body: it ended before its length', { cause });
  }
  if (length > LONGEST_BODY) throw tooLarge();
  return Buffer.concat(parts);
}

/** Returns Content-Length, or the maximum for a chunked body; 0 for short and rejected bodies, so that those use no quota. */
export function bodyBytes({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return LONGEST_BODY;
  const length = Number(headers['content-length'] ?? '0');
  return length > LONGEST_BODY || length <= SHORT_BODY ? 0 : length;
}

function parse(bytes: Buffer): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const excess = excessOf(text, MOST);
    if (excess !== undefined) throw new Problem('bad_request', `body: it has ${excess}; send less`);
    return JSON.parse(text, refuseProto);
  } catch (error) {
    if (error instanceof Problem) throw error;
    // Messages of JSON.parse repeat the text, which may hold a secret.
    throw new Problem('bad_request', 'body: not valid JSON in UTF-8');
  }
}

/** Rejects `__proto__`, which schema checks would drop silently. */
function refuseProto(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new Problem('bad_request', 'body: no field may be called __proto__');
  return value;
}

const tooLarge = (): Problem => new Problem('too_large', `the body is longer than ${LONGEST_BODY} bytes`);
