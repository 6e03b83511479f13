import { SecondChanceMap } from '#runtime/second-chance-map';
import type { CredentialHeaders } from './credential.ts';

/** Something got by an exchange. Times are milliseconds since the epoch. */
export interface Exchanged {
  /** From here on a call asks for a successor while this one still serves. */
  refreshAt: number;
  /** From here on it is not used any more. */
  readonly usableUntil: number;
  /** Replaced, evicted or refused by its backend. */
  dropped: boolean;
  /** Used since the last look for something to evict. */
  used: boolean;
}

export interface ExchangedToken extends Exchanged {
  readonly headers: CredentialHeaders;
}

const SWEEP_EVERY = 60_000;
/** How long a failed renewal waits while the present token still serves. */
const RENEW_AGAIN = 5_000;

/** What was exchanged, by key, bounded, and the exchanges under way: one for each key. */
export class ExchangedTokens<Token extends Exchanged = ExchangedToken> {
  readonly #tokens: SecondChanceMap<string, Token>;
  readonly #flights = new Map<string, Promise<Token>>();
  readonly #maxFlights: number;
  readonly #now: () => number;
  #sweepAt = 0;

  constructor({
    maxTokens = 10_000,
    maxFlights = 1_000,
    now,
  }: {
    maxTokens?: number;
    maxFlights?: number;
    now: () => number;
  }) {
    this.#tokens = new SecondChanceMap(maxTokens, (token) => {
      token.dropped = true;
    });
    this.#maxFlights = maxFlights;
    this.#now = now;
  }

  /** Tokens that are kept. */
  get size(): number {
    return this.#tokens.size;
  }

  get(key: string): Token | undefined {
    return this.#tokens.get(key);
  }

  /**
   * The token that is kept, where it still serves. Near its end this begins to get a successor, without waiting for it; a failure
   * is tried again a little later.
   */
  serving(key: string, exchange: () => Promise<Token>): Token | undefined {
    const token = this.#tokens.get(key);
    const now = this.#now();
    if (token === undefined || token.dropped || now >= token.usableUntil) return undefined;
    if (now >= token.refreshAt) {
      token.refreshAt = Math.min(now + RENEW_AGAIN, token.usableUntil);
      this.obtain(key, exchange)?.catch(() => undefined);
    }
    token.used = true;
    return token;
  }

  drop(key: string): void {
    const token = this.#tokens.get(key);
    if (token === undefined) return;
    token.dropped = true;
    this.#tokens.delete(key);
  }

  /**
   * Runs one exchange for this key, or joins the one under way, and keeps its token. A failure is not kept.
   * Undefined: too many exchanges are under way.
   */
  obtain(key: string, exchange: () => Promise<Token>): Promise<Token> | undefined {
    const running = this.#flights.get(key);
    if (running !== undefined) return running;
    if (this.#flights.size >= this.#maxFlights) return undefined;
    const flight = exchange()
      .then((token) => {
        this.#keep(key, token);
        return token;
      })
      .finally(() => this.#flights.delete(key));
    this.#flights.set(key, flight);
    return flight;
  }

  #keep(key: string, token: Token): void {
    this.drop(key);
    this.#sweep();
    this.#tokens.set(key, token);
  }

  #sweep(): void {
    const now = this.#now();
    if (now < this.#sweepAt) return;
    this.#sweepAt = now + SWEEP_EVERY;
    for (const [key, token] of this.#tokens) if (now >= token.usableUntil) this.drop(key);
  }
}
