import { RequestError } from '#runtime/errors';

/** How many streams may be open beside those of sessions, which sessions bound. */
interface StreamLimits {
  readonly perPrincipal: number;
  readonly perReplica: number;
}

/** Counts the streams that callers open without end: subscriptions, and calls that are resumed. */
export class StreamQuota {
  readonly #limits: () => StreamLimits;
  readonly #open = new Map<string, number>();
  #total = 0;

  constructor(limits: () => StreamLimits) {
    this.#limits = limits;
  }

  /**
   * Takes one place.
   * @returns gives it back, once
   * @throws RequestError 429
   */
  enter(principal: string): () => void {
    const { perPrincipal, perReplica } = this.#limits();
    const open = this.#open.get(principal) ?? 0;
    if (open >= perPrincipal || this.#total >= perReplica) throw tooMany();
    this.#open.set(principal, open + 1);
    this.#total++;
    let isIn = true;
    return () => {
      if (isIn) this.#leave(principal);
      isIn = false;
    };
  }

  #leave(principal: string): void {
    this.#total--;
    const left = (this.#open.get(principal) ?? 1) - 1;
    if (left > 0) this.#open.set(principal, left);
    else this.#open.delete(principal);
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
