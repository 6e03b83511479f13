/** The user must act. The operator retries only after a resource changes. */
export class Stalled extends Error {
  override readonly name = 'Stalled';
  /** CamelCase reason of the condition, e.g. `InvalidIncomingAuth`. The message states the remedy. */
  readonly reason: string;
  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Milliseconds until the next search for a missing object, in case its watch event was lost. */
export const LOOK_AGAIN = 60_000;

interface WaitingOptions extends ErrorOptions {
  /** Milliseconds until the next attempt, if no watch reports the missing object. */
  retryIn?: number;
}

/** A named object is missing. The operator retries when it appears, and periodically in case its watch event was lost. */
export class Waiting extends Error {
  override readonly name = 'Waiting';
  /** CamelCase reason of the condition, e.g. `GroupNotFound`. The message names what is missing. */
  readonly reason: string;
  /** Milliseconds. */
  readonly retryIn: number;
  constructor(reason: string, message: string, { retryIn = LOOK_AGAIN, ...options }: WaitingOptions = {}) {
    super(message, options);
    this.reason = reason;
    this.retryIn = retryIn;
  }
}

/** A failure that states when to retry. */
export abstract class Retriable extends Error {
  /** Milliseconds before which another attempt is useless; undefined if the failure does not say. */
  abstract readonly retryAfter: number | undefined;
  /** Milliseconds within which to retry, however many attempts have failed; undefined for the usual backoff. */
  abstract readonly retryWithin: number | undefined;
}
