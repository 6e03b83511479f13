/**
 * Why something could not be fetched: it may not be asked for (`refused`), did not answer in time (`timeout`), not at all
 * (`unreachable`), or with something else than what was asked for (`unexpected`).
 */
export type FailureKind = 'refused' | 'timeout' | 'unreachable' | 'unexpected';

/** A call that failed. The message is public: it names the host and the remedy, and holds nothing of what was sent. */
export class FetchFailure extends Error {
  override readonly name = 'FetchFailure';
  readonly kind: FailureKind;
  /** Status of the answer, if there was one. */
  readonly status: number | undefined;
  constructor(kind: FailureKind, message: string, options: ErrorOptions & { status?: number } = {}) {
    super(message, options);
    this.kind = kind;
    this.status = options.status;
  }
}
