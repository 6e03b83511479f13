import type { RequestFacts } from '../handler.ts';

/** Reads Fetch Metadata §2.3, which scripts and other sites cannot set. Browsers send it over https and on loopback. */
export function isFromOwnPage({ headers }: Pick<RequestFacts, 'headers'>): boolean {
  return headers['sec-fetch-site'] === 'same-origin';
}
