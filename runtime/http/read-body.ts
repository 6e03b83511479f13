import type { IncomingMessage } from 'node:http';
import { RequestError } from '#runtime/errors';

function tooLarge(limit: number): RequestError {
  return new RequestError({ status: 413, code: 'body_too_large', text: `The body is larger than ${limit} bytes` });
}

/**
 * The whole body, at most `limit` bytes; what is more is not read.
 * @throws RequestError 413 when it is larger, 400 when the client broke off
 */
export function readBody(req: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(req.headers['content-length'] ?? 0) > limit) {
      reject(tooLarge(limit));
      return;
    }
    const brokeOff = (cause?: unknown) =>
      reject(new RequestError({ status: 400, code: 'body_incomplete', text: 'The body is incomplete' }, { cause }));
    // The client may have left while its token was looked at: then no event comes any more.
    if (req.destroyed) {
      brokeOff();
      return;
    }
    const chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        req.pause();
        reject(tooLarge(limit));
        return;
      }
      chunks.push(chunk);
    });
    req.on('end', () => {
      const [first] = chunks;
      resolve(chunks.length === 1 && first ? first : Buffer.concat(chunks));
    });
    req.on('error', brokeOff);
    // Every request closes: an error, which is costly to make, is made for one whose body is not whole alone.
    req.on('close', () => {
      if (!req.readableEnded) brokeOff();
    });
  });
}
