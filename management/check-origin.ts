import type { IncomingHttpHeaders } from 'node:http';
import { Problem } from './problem.ts';

const OWN_SITE = new Set(['none', 'same-origin']);

/** Rejects browser requests from pages of other sites; other clients send neither header. @throws Problem `foreign_host` */
export function checkOrigin({ origin, 'sec-fetch-site': site }: IncomingHttpHeaders, own: readonly string[]): void {
  const isOwn = origin === undefined || own.includes(origin);
  if (!isOwn || (site !== undefined && (typeof site !== 'string' || !OWN_SITE.has(site))))
    throw new Problem('foreign_host', 'Origin: pages of another site may not use this server');
}
