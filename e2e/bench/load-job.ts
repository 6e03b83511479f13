/** A client of the load generator: one session, one token, and a list of calls that it repeats. */
export interface LoadClient {
  headers: Record<string, string>;
  /** JSON bodies; each holds ID_PLACEHOLDER once, where the request's id goes. */
  bodies: string[];
}

export const ID_PLACEHOLDER = 100_000_000;

/** One measurement. */
export interface LoadJob {
  port: number;
  path: string;
  /** One connection each. */
  clients: LoadClient[];
  /** Member that a sampled answer must have. Absent: the answer must be the result of a tool. */
  member?: string;
  warmUpMs: number;
  measureMs: number;
  /** Calls a second, spread evenly. Absent: each connection sends its next call when it has its answer. */
  rate?: number;
  /** Process ids to measure the CPU time of, by name. */
  pids: Record<string, number>;
}

/** Latencies are microseconds; CPU is microseconds a call. */
export interface LoadResult {
  calls: number;
  errors: number;
  /** The first error. */
  error: string | undefined;
  seconds: number;
  rps: number;
  p50: number;
  p99: number;
  max: number;
  /** CPU of each named process, and `load` for the generator itself. */
  cpu: Record<string, number>;
}
