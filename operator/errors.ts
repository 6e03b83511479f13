/** The user must act: nothing changes until a resource changes, so nothing is retried. */
export class Stalled extends Error {
  override readonly name = 'Stalled';
  /** CamelCase reason of the condition, e.g. `InvalidIncomingAuth`. The message says what to do. */
  readonly reason: string;
  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** How long after a missing thing is looked for again, in case the news of it was lost. Milliseconds. */
export const LOOK_AGAIN = 60_000;

interface WaitingOptions extends ErrorOptions {
  /** Milliseconds until the next attempt, where nobody tells that the missing thing has come. */
  retryIn?: number;
}

/** Something named is missing: tried again when it appears, and from time to time in case the news of it is lost. */
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

/** A failure that says when another attempt is right. */
export abstract class Retriable extends Error {
  /** Milliseconds before which another attempt is of no use; undefined: nobody said so. */
  abstract readonly retryAfter: number | undefined;
  /** Milliseconds within which another attempt is right, however many have failed; undefined: they are to be rarer. */
  abstract readonly retryWithin: number | undefined;
}
