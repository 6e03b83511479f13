import type { Log } from '#operator/log';
import type { Clock } from '#operator/queue';
import type { KubeApi } from './api.ts';
import type { KubeObject, Resource } from './object.ts';

export interface ReflectorOptions<T extends KubeObject = KubeObject> {
  api: KubeApi;
  resource: Resource;
  /** Watched one by one; undefined for all namespaces. */
  namespaces?: readonly string[] | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  /** Only metadata is fetched and kept: for Secrets. */
  metadataOnly?: boolean;
  /** What is kept of each object; without, all but managed fields and the copy that `kubectl apply` leaves. May change its argument. */
  transform?: (object: KubeObject) => T;
  clock: Clock;
  /** Between 0 and 1, for the jitter of delays. */
  random?: () => number;
  log: Log;
  /** Told of each watch that began after another one of the same namespace, and why the last one ended. */
  onRestart?: (resource: string, why: RestartReason) => void;
}

export type RestartReason = 'end' | 'expired' | 'error';

/** A change of one object: `old` is absent for one that appears, `current` for one that goes. Must not throw. */
export type OnChange<T> = (old: T | undefined, current: T | undefined) => void;

/** Objects of one resource as the API server has them, kept current by list and watch. */
export interface Reflector<T extends KubeObject = KubeObject> {
  /** By `namespace/name`, or name where there is no namespace. Changes while it is held; its objects are never changed. */
  readonly store: ReadonlyMap<string, T>;
  /** By name, of one namespace: the live index itself, not a copy, with no prototype. */
  inNamespace(namespace: string): Readonly<Record<string, T>>;
  /** Starts to list and watch. Call `onChange` before. */
  start(): void;
  /** Resolves when all that was there at the start is in the store, and its changes were told. Rejects when closed before. */
  synced(): Promise<void>;
  readonly hasSynced: boolean;
  /** Returns a function that ends it. Each object of the first list is told as one that appears. */
  onChange(listener: OnChange<T>): () => void;
  /** Ends the watches and resolves when nothing runs any more. */
  close(): Promise<void>;
}

/** Reads and keeps the objects of one resource. Nothing happens before `start`. */
export declare function createReflector<T extends KubeObject = KubeObject>(options: ReflectorOptions<T>): Reflector<T>;
