import type { RequestFacts } from '../handler.ts';

/**
 * Returns whether a page of the same origin sent the request, according to the browser (Fetch Metadata Request Headers
 * §2.3). Scripts and other sites cannot set this header. Browsers send it over https and on loopback.
 */
export function isFromOwnPage({ headers }: Pick<RequestFacts, 'headers'>): boolean {
  return headers['sec-fetch-site'] === 'same-origin';
}
