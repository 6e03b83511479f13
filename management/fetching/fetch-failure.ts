/** `refused`: not allowed; `timeout`: no answer in time; `unreachable`: no connection; `unexpected`: another answer. */
export type FailureKind = 'refused' | 'timeout' | 'unreachable' | 'unexpected';

/** The message is public: it names the host and the remedy and contains no request data. */
export class FetchFailure extends Error {
  override readonly name = 'FetchFailure';
  readonly kind: FailureKind;
  /** Undefined if there was no answer. */
  readonly status: number | undefined;
  constructor(kind: FailureKind, message: string, options: ErrorOptions & { status?: number } = {}) {
    super(message, options);
    this.kind = kind;
    this.status = options.status;
  }
}
