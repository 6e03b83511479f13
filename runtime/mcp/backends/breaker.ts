import type { CallFailure } from './backend.ts';

interface BreakerSettings {
  readonly enabled: boolean;
  /** Failures in a row that open the circuit. */
  readonly failureThreshold: number;
  /** Milliseconds before one call may try again. */
  readonly timeout: number;
}

/** What a failure says about the backend: a refusal of ours, or an abort by the client, says nothing. */
const COUNTED: ReadonlySet<CallFailure['reason']> = new Set(['unavailable', 'timeout', 'protocol']);

/** Stops calls to a backend that fails: open after a run of failures, then one trial call after `timeout`. */
export interface Breaker {
  admits(): boolean;
  record(failure: CallFailure | undefined): void;
  readonly open: boolean;
}

export function createBreaker(settings: BreakerSettings, now: () => number): Breaker {
  let failures = 0;
  let openUntil = 0;
  let trial = false;
  const isOpen = () => failures >= settings.failureThreshold;
  return {
    get open() {
      return settings.enabled && isOpen();
    },
    admits() {
      if (!settings.enabled || !isOpen()) return true;
      if (trial || now() < openUntil) return false;
      trial = true;
      return true;
    },
    record(failure) {
      if (!settings.enabled) return;
      trial = false;
      if (failure && !COUNTED.has(failure.reason)) return;
      if (failure === undefined) {
        failures = 0;
      } else if (++failures >= settings.failureThreshold) {
        openUntil = now() + settings.timeout;
      }
    },
  };
}
