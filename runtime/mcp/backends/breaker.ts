import type { CallFailure, FailureReason } from './failures.ts';

interface BreakerSettings {
  readonly enabled: boolean;
  /** Failures in a row that open the circuit. */
  readonly failureThreshold: number;
  /** Milliseconds before one call may try again. */
  readonly timeout: number;
}

/** What a failed connection says, an answered probe takes back. */
const CONNECTION = ['unavailable', 'refused', 'connect_timeout', 'reset', 'http_error'] as const;

/**
 * What a failure says about the backend: a refusal of ours, an abort by the client, or a process that is started again, says
 * nothing.
 */
const COUNTED: ReadonlySet<FailureReason> = new Set([...CONNECTION, 'timeout', 'protocol'] as const);
const PROBED: ReadonlySet<FailureReason> = new Set(CONNECTION);

type BreakerState = 'closed' | 'open' | 'half-open';

/** Stops calls to a backend that fails: open after a run of failures, then one trial call after `timeout`. */
export interface Breaker {
  admits(): boolean;
  record(failure: CallFailure | undefined): void;
  /** A probe was answered: where connections failed before, one call may try at once. */
  noteProbe(): void;
  readonly state: BreakerState;
}

export function createBreaker(settings: BreakerSettings, now: () => number): Breaker {
  let failures = 0;
  let openUntil = 0;
  let trial = false;
  let last: FailureReason | undefined;
  const isOpen = () => settings.enabled && failures >= settings.failureThreshold;
  return {
    get state() {
      if (!isOpen()) return 'closed';
      return now() < openUntil ? 'open' : 'half-open';
    },
    admits() {
      if (!isOpen()) return true;
      if (trial || now() < openUntil) return false;
      trial = true;
      return true;
    },
    noteProbe() {
      if (isOpen() && last !== undefined && PROBED.has(last)) openUntil = Math.min(openUntil, now());
    },
    record(failure) {
      if (!settings.enabled) return;
      trial = false;
      if (failure && !COUNTED.has(failure.reason)) return;
      last = failure?.reason;
      if (failure === undefined) {
        failures = 0;
      } else if (++failures >= settings.failureThreshold) {
        openUntil = now() + settings.timeout;
      }
    },
  };
}
