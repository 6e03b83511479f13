import type { StoredResource } from '../stores/resources.ts';

/** What runs of workloads. Two of them: processes of this machine, and pods. */
export interface WorkloadRuntime {
  /** Address that endpoints of workloads listen on. */
  readonly host: string;
  /** Of the resources; what is noted on one has it before its name. */
  readonly apiGroup: string;
  /** Paths of the machine mean something. */
  readonly hasPaths: boolean;
  /** Host at which the program of a workload is reached. */
  targetHost(name: string): string;
  /** Looks once, and tells of each workload what was seen; undefined where nobody can say: nothing runs here at all. */
  look(): Promise<(resource: StoredResource) => Seen | undefined>;
  /**
   * Lines of the logs of a workload, each with its line break, until there are no more, or until `signal` with `follow`.
   * @throws Problem `not_found`: it has none yet
   */
  logs(name: string, options: LogOptions): Promise<AsyncIterable<string>>;
}

/** What was seen of a workload's own processes or pods. */
export interface Seen {
  /** Something of it runs. */
  isRunning: boolean;
  /** It ends again and again: how it did last, e.g. `exited with code 1`. */
  crashed?: string | undefined;
}

export interface LogOptions {
  /** Lines of the past. */
  lines: number;
  follow: boolean;
  /** Who reads them. */
  who: string;
  signal: AbortSignal;
}
