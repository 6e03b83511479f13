import { Retriable } from '#operator/errors';

/** One problem of a request. `field` is a path such as `spec.replicas`. */
export interface Cause {
  field?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

interface ApiErrorFacts extends ErrorOptions {
  /** HTTP status; 0 without an answer. */
  status: number;
  /** Kubernetes' own, e.g. `NotFound`, `Conflict`, `AlreadyExists`, `Expired`, `Invalid`; or `Unreachable`, `Timeout`, `InvalidAnswer`. */
  reason: string;
  /** Milliseconds that the server asks to wait, if it does. */
  retryAfter?: number | undefined;
  /** Colliding names or invalid fields: the machine-readable part of the server's answer. */
  causes?: Cause[] | undefined;
}

/** Statuses after which the same request may succeed. */
const PASSING = new Set([0, 401, 408, 409, 425, 429]);

/** Statuses of a server that is not up yet or overloaded. */
const AWAY = new Set([429, 502, 503, 504]);

/** Longest pause between attempts while the API server is away. Milliseconds. */
const RETRY_WITHIN = 10_000;

/** The API server refused or did not answer a request. The message never holds a value of a Secret. */
export class ApiError extends Retriable {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly reason: string;
  /** Milliseconds. */
  readonly retryAfter: number | undefined;
  readonly causes: readonly Cause[];

  constructor(message: string, { status, reason, retryAfter, causes, ...options }: ApiErrorFacts) {
    super(message, options);
    this.status = status;
    this.reason = reason;
    this.retryAfter = retryAfter;
    this.causes = causes ?? [];
  }

  /** Returns whether the same request may succeed later without a repair. */
  get retryHelps(): boolean {
    return PASSING.has(this.status) || this.status >= 500;
  }

  /** Returns whether the server is not answering (yet), so the request itself is not at fault. */
  get isAway(): boolean {
    return this.reason === 'Unreachable' || this.reason === 'Timeout' || AWAY.has(this.status);
  }

  get retryWithin(): number | undefined {
    return this.isAway ? RETRY_WITHIN : undefined;
  }
}

export function isStatus(problem: unknown, ...statuses: number[]): problem is ApiError {
  return problem instanceof ApiError && statuses.includes(problem.status);
}
