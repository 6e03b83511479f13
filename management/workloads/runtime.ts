import type { Manifest } from '#operator/snapshot';
import type { StoredResource } from '../stores/resources.ts';

/** The resources of all namespaces share them. */
export interface MachinePorts {
  readonly namespace: string;
  manifests(): readonly Manifest[];
  /** Returns the text of the resource's key; undefined if none is known. */
  holderOf(port: number): string | undefined;
  isFree(port: number): Promise<boolean>;
}

/** Processes of this machine, or pods. */
export interface WorkloadRuntime {
  readonly host: string;
  readonly apiGroup: string;
  /** Whether paths of this machine are meaningful. */
  readonly hasPaths: boolean;
  targetHost(name: string): string;
  /** Absent in a cluster, where each endpoint has its own address. */
  readonly ports?: MachinePorts | undefined;
  /** Returns undefined for a workload when nothing runs here. */
  look(): Promise<(resource: StoredResource) => Seen | undefined>;
  /** Yields line breaks, too; with `follow`, yields until `signal` aborts. @throws Problem `not_found`: there is no log yet */
  logs(name: string, options: LogOptions): Promise<AsyncIterable<string>>;
}

export interface Seen {
  isRunning: boolean;
  /** Set when the program crashes repeatedly: how it ended last, e.g. `exited with code 1`. */
  crashed?: string | undefined;
}

export interface LogOptions {
  lines: number;
  follow: boolean;
  who: string;
  signal: AbortSignal;
}
