import type { IncomingMessage } from 'node:http';
import { RequestError } from '#runtime/errors';

function tooLarge(limit: number): RequestError {
  return new RequestError({ status: 413, code: 'body_too_large', text: `The body is larger than ${limit} bytes` });
}

/** Reads the whole body, at most `limit` bytes. @throws RequestError 413 if it is larger, 400 if the client disconnected */
export function readBody(req: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(req.headers['content-length'] ?? 0) > limit) {
      reject(tooLarge(limit));
      return;
    }
    const brokeOff = (cause?: unknown) =>
      reject(new RequestError({ status: 400, code: 'body_incomplete', text: 'The body is incomplete' }, { cause }));
    // The client may have disconnected while its token was verified: then no event follows.
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
    // Every request emits 'close'. An error is costly, so it is created only for an incomplete body.
    req.on('close', () => {
      if (!req.readableEnded) brokeOff();
    });
  });
}
