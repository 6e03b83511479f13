import type { IncomingMessage } from 'node:http';
import { Problem } from './problem.ts';

/** Headers that may occur once: Node uses the first of two values, other servers the last. */
const ONCE = ['host', 'authorization', 'origin', 'sec-fetch-site', 'content-type', 'content-encoding', 'if-match'];

/** Rejects an ambiguous head: two Host headers (RFC 9112 §3.2), a host in the path (§3.2.2), two tokens. @throws Problem `bad_request` */
export function checkHead({ url = '', headersDistinct }: IncomingMessage): void {
  if (!url.startsWith('/')) throw new Problem('bad_request', 'path: write it from the root, without scheme and host');
  for (const name of ONCE)
    if ((headersDistinct[name]?.length ?? 0) > 1) throw new Problem('bad_request', `${name}: send this header once`);
}
