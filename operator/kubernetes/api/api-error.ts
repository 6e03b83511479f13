import { Retriable } from '#operator/errors';

/** One thing that is wrong with what was sent. `field` is a path such as `spec.replicas`. */
export interface Cause {
  field?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

interface ApiErrorFacts extends ErrorOptions {
  /** HTTP status; 0 when there was no answer at all. */
  status: number;
  /**
   * Kubernetes' own word, e.g. `NotFound`, `Conflict`, `AlreadyExists`, `Expired`, `Invalid`; or `Unreachable`, `Timeout`,
   * `InvalidAnswer`.
   */
  reason: string;
  /** Milliseconds that the server asks to wait, where it says so. */
  retryAfter?: number | undefined;
  /** Names that collide, fields that are wrong: the machine-readable part of the server's answer. */
  causes?: Cause[] | undefined;
}

/** Statuses after which the same request may well succeed. */
const PASSING = new Set([0, 401, 408, 409, 425, 429]);

/** Statuses of who is not there yet, or has too much to do. */
const AWAY = new Set([429, 502, 503, 504]);

/** While the API server is away, what waits for it is not given more time than this. Milliseconds. */
const RETRY_WITHIN = 10_000;

/** The API server did not do what it was asked. The message never holds a value of a Secret. */
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

  /** Whether the same request may succeed later without anybody mending anything. */
  get retryHelps(): boolean {
    return PASSING.has(this.status) || this.status >= 500;
  }

  /** Whether nobody answers, or not yet: nothing is wrong with what was asked. */
  get isAway(): boolean {
    return this.reason === 'Unreachable' || this.reason === 'Timeout' || AWAY.has(this.status);
  }

  get retryWithin(): number | undefined {
    return this.isAway ? RETRY_WITHIN : undefined;
  }
}

/** Whether a problem is an answer of the API server with this status. */
export function isStatus(problem: unknown, ...statuses: number[]): problem is ApiError {
  return problem instanceof ApiError && statuses.includes(problem.status);
}
