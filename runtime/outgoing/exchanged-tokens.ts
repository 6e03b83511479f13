import { SecondChanceMap } from '#runtime/second-chance-map';
import type { CredentialHeaders } from './credential.ts';

/** A token or credential from an exchange. Times are milliseconds since the epoch. */
export interface Exchanged {
  /** From this time on, a call starts a renewal and still uses the present token. */
  refreshAt: number;
  /** From this time on, the token is not used. */
  readonly usableUntil: number;
  dropped: boolean;
  used: boolean;
}

export interface ExchangedToken extends Exchanged {
  readonly headers: CredentialHeaders;
}

const SWEEP_EVERY = 60_000;
/** Milliseconds before a failed renewal is retried while the present token is valid. */
const RENEW_AGAIN = 5_000;

/** Bounded cache of exchanged tokens, and the pending exchanges: one for each key. */
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

  get size(): number {
    return this.#tokens.size;
  }

  get(key: string): Token | undefined {
    return this.#tokens.get(key);
  }

  /** Near the token's expiry, starts a renewal in the background; a failure is retried later. */
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

  /** Runs one exchange for this key, or joins the pending one. Failures are not cached. Undefined: too many exchanges are pending. */
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
