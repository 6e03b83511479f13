import { randomUUID } from 'node:crypto';
import { Quota } from '#lib/limits/quota';
import type { ClientLeg } from './client-leg.ts';
import { OwnSeal, type RequestState, type StateSeal } from './request-state.ts';

/** A call that waits, or waited, for its client's input. */
export interface ParkedCall {
  /** Takes the client's retry of the request. */
  retry(leg: ClientLeg, state: RequestState): void;
}

export interface ParkedPlace {
  readonly id: string;
  /** The call is over: its outcome stays for repeated and late retries. */
  release(): void;
}

/** Milliseconds for one round of input. */
export const ROUND_TIME = 600_000;
/** Milliseconds for which an outcome stays. */
export const KEPT = 60_000;
const MOST = 1_000;
const MOST_OF_PRINCIPAL = 16;

/** All calls of this process that wait for input, at any backend. */
export class ParkedCalls {
  readonly #own = new OwnSeal();
  readonly #shared: () => StateSeal | undefined;
  readonly #quota = new Quota({ total: MOST, perKey: MOST_OF_PRINCIPAL });
  readonly #calls = new Map<string, ParkedCall>();

  /** @param shared undefined while replicas share no secret */
  constructor(shared: () => StateSeal | undefined = () => undefined) {
    this.#shared = shared;
  }

  seal(state: RequestState, binding: string): string {
    return (this.#shared() ?? this.#own).seal(state, binding);
  }

  /** Returns undefined if the text was not sealed for this call. */
  open(text: string, binding: string): RequestState | undefined {
    return this.#shared()?.open(text, binding) ?? this.#own.open(text, binding);
  }

  /** @throws QuotaExceeded */
  add(call: ParkedCall, principal: string): ParkedPlace {
    const leave = this.#quota.take(principal);
    const id = randomUUID();
    this.#calls.set(id, call);
    const forget = () => {
      this.#calls.delete(id);
    };
    return {
      id,
      release() {
        leave();
        setTimeout(forget, KEPT).unref();
      },
    };
  }

  find(id: string): ParkedCall | undefined {
    return this.#calls.get(id);
  }
}
