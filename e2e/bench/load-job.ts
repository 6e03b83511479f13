/** What a client of the load generator sends: one session, one token, a list of calls that it repeats. */
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
  /** What is looked at in one answer of many: a tool's result (the default), or a member that the JSON has to have. */
  member?: string;
  warmUpMs: number;
  measureMs: number;
  /** Calls a second, spread evenly; absent: each connection sends its next call when it has its answer. */
  rate?: number;
  /** Processes whose CPU time is wanted, by name. */
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
