import type { RequestFacts } from '../handler.ts';

/**
 * Whether a page of this very origin sent the request, as the browser itself says (Fetch Metadata Request Headers §2.3): no script and
 * no other site can say it, whatever it knows. Browsers say it over https, and on loopback.
 */
export function isFromOwnPage({ headers }: Pick<RequestFacts, 'headers'>): boolean {
  return headers['sec-fetch-site'] === 'same-origin';
}
