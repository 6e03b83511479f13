import type { ServerResponse } from 'node:http';

const ONE_WRITE = 16_384;

export function answerJson(
  res: ServerResponse,
  status: number,
  body: Buffer | string,
  headers?: Record<string, string>,
): void {
  if (res.headersSent || res.destroyed) return;
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  if (headers) res.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers });
  else res.writeHead(status, { 'content-type': 'application/json', 'content-length': length });
  // node sends a small text body in the same write as the headers; bytes would cost a second write.
  if (typeof body !== 'string' && length <= ONE_WRITE) res.end(body.toString('latin1'), 'latin1');
  else res.end(body);
}
