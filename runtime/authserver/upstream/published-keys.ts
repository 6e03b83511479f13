import { decodeProtectedHeader } from 'jose';
import { z } from 'zod';
import type { UpstreamAnswer, UpstreamHttp } from './upstream-http.ts';

/** Milliseconds for which a key that the provider removed stays valid. */
const MAX_AGE = 300_000;

const Keys = z.object({ keys: z.array(z.looseObject({ kid: z.string().optional() })) });
const Tokens = z.object({ id_token: z.string() });

export interface PublishedKeys {
  /** Fetches the keys again when they are old or lack the key that signed the answer. @throws UpstreamUnavailable */
  get(url: string, signed: UpstreamAnswer | undefined): Promise<UpstreamAnswer>;
}

/** Caches the key set of one provider. `now`: milliseconds since the epoch. */
export function rememberKeys(http: UpstreamHttp, now: () => number): PublishedKeys {
  let fetched: { readonly url: string; readonly answer: UpstreamAnswer; readonly at: number } | undefined;
  return {
    async get(url, signed) {
      if (fetched?.url === url && now() - fetched.at < MAX_AGE && isIn(fetched.answer, signed)) return fetched.answer;
      const answer = await http.call(url, { method: 'GET', headers: { accept: 'application/json' } });
      if (answer.status === 200) fetched = { url, answer, at: now() };
      return answer;
    },
  };
}

function isIn({ text }: UpstreamAnswer, signed: UpstreamAnswer | undefined): boolean {
  const kid = signed && kidOf(signed);
  if (kid === undefined) return true;
  const parsed = Keys.safeParse(parse(text));
  return parsed.success && parsed.data.keys.some((key) => key.kid === kid);
}

/** Returns the key id of the ID token in a token response, or of a response that is a JWT. */
function kidOf({ headers, text }: UpstreamAnswer): string | undefined {
  const isJwt = headers['content-type']?.startsWith('application/jwt') === true;
  const token = isJwt ? text : Tokens.safeParse(parse(text)).data?.id_token;
  try {
    return token === undefined ? undefined : decodeProtectedHeader(token).kid;
  } catch {
    return undefined;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
