import type { Challenges } from './challenges.ts';

/** Limit in characters. Real tokens with hundreds of groups are shorter. */
export const MAX_TOKEN_LENGTH = 16_384;
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/** Reads the Authorization header only, which must occur once (RFC 6750 §2.1). `rawHeaders`: node's flat list. @throws RequestError 401 */
export function readBearer(rawHeaders: readonly string[], challenges: Challenges): string {
  const value = findAuthorization(rawHeaders, challenges);
  if (value === undefined) throw challenges.missing();
  const scheme = value.slice(0, 7);
  if (scheme !== 'Bearer ' && scheme.toLowerCase() !== 'bearer ') throw challenges.missing();
  const token = value.slice(7).trim();
  if (token.length === 0 || token.length > MAX_TOKEN_LENGTH) throw challenges.invalid('malformed');
  return token;
}

/** Returns whether a token has valid characters only. Called only for tokens that are not cached. */
export function isToken(token: string): boolean {
  return TOKEN.test(token);
}

function findAuthorization(rawHeaders: readonly string[], challenges: Challenges): string | undefined {
  let found: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length !== 13 || name.toLowerCase() !== 'authorization') continue;
    if (found !== undefined) throw challenges.invalid('repeated');
    found = rawHeaders[i + 1] ?? '';
  }
  return found;
}
