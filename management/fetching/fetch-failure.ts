/**
 * Cause of a failed fetch: not allowed (`refused`), no answer in time (`timeout`), no connection (`unreachable`), or
 * another answer than requested (`unexpected`).
 */
export type FailureKind = 'refused' | 'timeout' | 'unreachable' | 'unexpected';

/** Failed HTTP call. The message is public: it names the host and the remedy and contains no request data. */
export class FetchFailure extends Error {
  override readonly name = 'FetchFailure';
  readonly kind: FailureKind;
  /** HTTP status, if there was an answer. */
  readonly status: number | undefined;
  constructor(kind: FailureKind, message: string, options: ErrorOptions & { status?: number } = {}) {
    super(message, options);
    this.kind = kind;
    this.status = options.status;
  }
}
