import { Quota, QuotaExceeded } from '#lib/limits/quota';
import { RequestError } from '#runtime/errors';

/** Streams of sessions do not count: sessions have limits of their own. */
interface StreamLimits {
  readonly perPrincipal: number;
  readonly perReplica: number;
}

/** Limits subscriptions, and calls that are resumed. */
export class StreamQuota {
  readonly #quota: Quota;

  constructor(limits: () => StreamLimits) {
    this.#quota = new Quota(() => {
      const { perPrincipal, perReplica } = limits();
      return { total: perReplica, perKey: perPrincipal };
    });
  }

  /** Returns the release, for one use. @throws RequestError 429 */
  take(principal: string): () => void {
    try {
      return this.#quota.take(principal);
    } catch (problem) {
      throw problem instanceof QuotaExceeded ? tooMany() : problem;
    }
  }
}

function tooMany(): RequestError {
  return new RequestError({
    status: 429,
    code: 'too_many_streams',
    text: 'Too many streams are open: close one first',
    headers: { 'Retry-After': '5' },
    rpc: { code: -32603 },
  });
}
