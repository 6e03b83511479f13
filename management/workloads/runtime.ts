import type { Manifest } from '#operator/snapshot';
import type { StoredResource } from '../stores/resources.ts';

/** The ports of this machine, which the resources of all namespaces share. */
export interface MachinePorts {
  /** Namespace of the workloads. */
  readonly namespace: string;
  /** Returns the resources of all namespaces. */
  manifests(): readonly Manifest[];
  /** Returns the text of the key of the resource whose runtime listens on a port. Undefined: none that is known. */
  holderOf(port: number): string | undefined;
  isFree(port: number): Promise<boolean>;
}

/** The running parts of workloads: processes of this machine, or pods. */
export interface WorkloadRuntime {
  /** Address on which endpoints of workloads listen. */
  readonly host: string;
  /** API group of the resources, which prefixes annotations on them. */
  readonly apiGroup: string;
  /** Whether paths of this machine are meaningful. */
  readonly hasPaths: boolean;
  /** Returns the host of a workload's program. */
  targetHost(name: string): string;
  /** Absent in a cluster, where each endpoint has its own address. */
  readonly ports?: MachinePorts | undefined;
  /** Reads the state once. Returns undefined for a workload when nothing runs here. */
  look(): Promise<(resource: StoredResource) => Seen | undefined>;
  /**
   * Yields log lines of a workload with line breaks, until the end, or with `follow` until `signal` aborts. @throws Problem `not_found`:
   * there is no log yet
   */
  logs(name: string, options: LogOptions): Promise<AsyncIterable<string>>;
}

/** State of a workload's own processes or pods. */
export interface Seen {
  /** At least one process or pod runs. */
  isRunning: boolean;
  /** Set when the program crashes repeatedly: how it ended last, e.g. `exited with code 1`. */
  crashed?: string | undefined;
}

export interface LogOptions {
  /** Number of past lines. */
  lines: number;
  follow: boolean;
  /** Caller that reads them. */
  who: string;
  signal: AbortSignal;
}
