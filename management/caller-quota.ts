import { Quota, QuotaExceeded, type QuotaLimits } from '#lib/limits/quota';
import { Problem } from './problem.ts';

interface CallerQuotaOptions extends QuotaLimits {
  /** Names the owner of the limit per key in messages. Default: `for you`. */
  whose?: string;
  /** Describes the current usage in messages: `the logs of 4 pods are being read`. */
  tell: (held: number) => string;
}

const HEADERS = { 'Retry-After': '5' };

/** Limits callers of the API or their namespaces by a quota. */
export class CallerQuota {
  readonly #quota: Quota;
  readonly #options: CallerQuotaOptions;

  constructor(options: CallerQuotaOptions) {
    this.#quota = new Quota(options);
    this.#options = options;
  }

  /**
   * Returns the function that releases the amount, once.
   * @throws Problem `too_many_requests` (caller), `unavailable` (all), with Retry-After
   */
  take(key: string, amount = 1): () => void {
    return this.#explained(() => this.#quota.take(key, amount));
  }

  /** Takes nothing. @throws Problem if `take` would throw */
  check(key: string, amount = 1): void {
    this.#explained(() => this.#quota.check(key, amount));
  }

  #explained<T>(ask: () => T): T {
    try {
      return ask();
    } catch (cause) {
      throw cause instanceof QuotaExceeded ? refusal(cause, this.#options) : cause;
    }
  }
}

function refusal(cause: QuotaExceeded, { whose = 'for you', tell }: CallerQuotaOptions): Problem {
  const options = { cause, headers: HEADERS };
  const told = tell(cause.held);
  if (cause.limit === 'total') return new Problem('unavailable', `${told} already: try again later`, options);
  return new Problem('too_many_requests', `${told} ${whose} already: try again later`, options);
}

/** Releases at once if the signal is aborted already. */
export function releaseOnAbort(signal: AbortSignal, release: () => void): void {
  if (signal.aborted) release();
  else signal.addEventListener('abort', release, { once: true });
}
