import type { IncomingMessage } from 'node:http';
import { Problem } from './problem.ts';

/** What is decided by: Node takes the first of two, others the last. */
const ONCE = ['host', 'authorization', 'origin', 'sec-fetch-site', 'content-type', 'content-encoding', 'if-match'];

/**
 * Refuses a request whose head says two things: two hosts (RFC 9112 §3.2), a host in its path as well (§3.2.2), two tokens.
 * @throws Problem `bad_request`
 */
export function checkHead({ url = '', headersDistinct }: IncomingMessage): void {
  if (!url.startsWith('/')) throw new Problem('bad_request', 'path: write it from the root, without scheme and host');
  for (const name of ONCE)
    if ((headersDistinct[name]?.length ?? 0) > 1) throw new Problem('bad_request', `${name}: send this header once`);
}
