import { RequestError } from '#runtime/errors';
import type { Limit, Refusal } from './limit.ts';

/** HTTP's code: JSON-RPC reserves its own codes, and MCP those below -32000. */
const TOO_MANY_REQUESTS = 429;
const INTERNAL_ERROR = -32603;
/** Seconds. */
const STORE_RETRY = 1;

/** A request that a rate limit refused. */
export class RateLimited extends RequestError {
  readonly scope: Limit['scope'];
  constructor(scope: Limit['scope'], ...of: ConstructorParameters<typeof RequestError>) {
    super(...of);
    this.scope = scope;
  }
}

/** RFC 6585 §4. Clients without access to headers, as on HTTP+SSE, read the seconds in the error. */
export function rateLimited({ limit: { scope }, wait }: Refusal): RateLimited {
  const retryAfter = Math.max(1, Math.ceil(wait / 1000));
  return new RateLimited(scope, {
    status: TOO_MANY_REQUESTS,
    code: 'rate_limited',
    text: `Too many requests: try again in ${retryAfter} s`,
    headers: { 'Retry-After': String(retryAfter) },
    rpc: { code: TOO_MANY_REQUESTS, data: { retryAfter, scope } },
  });
}

export function notCounted({ scope }: Limit, cause: unknown): RateLimited {
  return new RateLimited(
    scope,
    {
      status: 503,
      code: 'rate_limit_unavailable',
      text: 'Requests cannot be counted just now; try again later',
      headers: { 'Retry-After': String(STORE_RETRY) },
      rpc: { code: INTERNAL_ERROR, data: { retryAfter: STORE_RETRY, scope } },
    },
    { cause },
  );
}
