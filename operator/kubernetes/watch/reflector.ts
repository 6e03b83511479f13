import type { Log } from '#lib/log/log';
import type { Clock } from '#operator/queue';
import { ApiError, isStatus } from '../api/api-error.ts';
import type { KubeApi, Selection } from '../api/api.ts';
import { type KubeObject, placeText, type Resource } from '../api/object.ts';
import type { NextPage } from '../api/read-page.ts';
import { ObjectIndex } from './object-index.ts';
import { countFailure, type Failures, retryDelay } from './retry-delay.ts';
import { stripWeight } from './strip-weight.ts';

export interface ReflectorOptions<T extends KubeObject = KubeObject> {
  api: KubeApi;
  resource: Resource;
  /** Watched one by one; undefined for all namespaces. */
  namespaces?: readonly string[] | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  metadataOnly?: boolean;
  /** Reduces each object before it is stored; may change its argument. Default: drops managed fields and the copy of `kubectl apply`. */
  transform?: (object: KubeObject) => T;
  clock: Clock;
  /** Returns a number between 0 and 1, for the jitter of delays. */
  random?: () => number;
  log: Log;
  onRestart?: (resource: string, why: RestartReason) => void;
  /** Milliseconds without a byte after which a watch is restarted. */
  silence?: number;
}

export type RestartReason = 'end' | 'expired' | 'error';

/** A change of one object: `old` is absent for an addition, `current` for a deletion. Must not throw. */
type OnChange<T> = (old: T | undefined, current: T | undefined) => void;

export interface Reflector<T extends KubeObject = KubeObject> {
  /** By `namespace/name`, or name for cluster-scoped objects. A live map; its objects are never changed. */
  readonly store: ReadonlyMap<string, T>;
  /** Returns the live index of one namespace by name, without a prototype. */
  inNamespace(namespace: string): Readonly<Record<string, T>>;
  /** Starts to list and watch. Call `onChange` before. */
  start(): void;
  /** Resolves when all objects of the first list are stored and reported. Rejects if it is closed before. */
  synced(): Promise<void>;
  readonly hasSynced: boolean;
  /** Adds a listener. Returns a function that removes it. Each object of the first list is reported as an addition. */
  onChange(listener: OnChange<T>): () => void;
  close(): Promise<void>;
}

const PAGE = 500;
/** Milliseconds. Bookmarks come once a minute, so a longer silence is a dead connection. */
const SILENCE = 75_000;
/** Seconds after which the API server ends a watch, with a random factor of up to two. */
const SHORTEST_WATCH = 300;
/** Milliseconds. A watch that ends earlier without an event counts as failed. */
const SHORT_WATCH = 1000;
/** After this many failures in a row, the last version is too old to resume from. */
const FAILURES_BEFORE_LIST = 5;

const REMEDIES: Record<number, string> = {
  401: 'the API server does not know this account: check the token or the kubeconfig',
  403: 'the operator may not read it: install the roles of the chart, or limit it by --watch-namespace',
  404: 'the API server does not know this kind: install the custom resource definitions, or check --api-group',
};

export function createReflector<T extends KubeObject = KubeObject>(options: ReflectorOptions<T>): Reflector<T> {
  return new ListAndWatch(options);
}

class ListAndWatch<T extends KubeObject> implements Reflector<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #index = new ObjectIndex<T>();
  readonly #listeners = new Set<OnChange<T>>();
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<undefined>();
  readonly #unsynced: Set<string | undefined>;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#unsynced = new Set(options.namespaces ?? [undefined]);
    // Prevents an unhandled rejection if it is closed without a waiting caller.
    this.#synced.promise.catch(() => undefined);
  }

  get store(): ReadonlyMap<string, T> {
    return this.#index.byPlace;
  }

  get hasSynced(): boolean {
    return this.#unsynced.size === 0;
  }

  inNamespace(namespace: string): Readonly<Record<string, T>> {
    return this.#index.inNamespace(namespace);
  }

  async synced(): Promise<void> {
    await this.#synced.promise;
  }

  onChange(listener: OnChange<T>): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(): void {
    this.#running = Promise.all([...this.#unsynced].map((namespace) => this.#follow(namespace)));
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#synced.reject(new Error(`watching ${this.#options.resource.plural} was given up`));
    await this.#running;
  }

  async #follow(namespace: string | undefined): Promise<void> {
    const progress: Progress = { namespace, version: undefined, failures: NO_FAILURE, said: '' };
    while (!this.#isClosed()) {
      try {
        progress.version ??= await this.#list(namespace);
        if (this.#unsynced.delete(namespace) && this.hasSynced) this.#synced.resolve(undefined);
        await this.#watch(progress, progress.version);
      } catch (problem) {
        if (this.#isClosed()) return;
        await this.#recover(problem, progress);
      }
    }
  }

  async #list(namespace: string | undefined): Promise<string> {
    try {
      return await this.#readPages(namespace, PAGE);
    } catch (problem) {
      // The API server no longer knows the first page.
      if (!isStatus(problem, 410)) throw problem;
      return this.#readPages(namespace, undefined);
    }
  }

  async #readPages(namespace: string | undefined, limit: number | undefined): Promise<string> {
    const { api, resource } = this.#options;
    const seen = new Set<string>();
    let next: NextPage | undefined;
    for (;;) {
      const paging = { ...(limit !== undefined && { limit }), next, signal: this.#stop.signal };
      const page = await api.list(resource, this.#selection(namespace), paging);
      for (const object of page.items) seen.add(this.#take(object));
      next = page.next;
      if (next !== undefined) continue;
      for (const place of this.#index.places(namespace)) if (!seen.has(place)) this.#drop(place);
      return page.resourceVersion;
    }
  }

  async #watch(progress: Progress, resourceVersion: string): Promise<void> {
    const { api, resource, clock, random = Math.random, silence = SILENCE, onRestart } = this.#options;
    const startedAt = clock.now();
    const timeoutSeconds = Math.round(SHORTEST_WATCH * (1 + random()));
    const watching = { resourceVersion, signal: this.#stop.signal, silence, timeoutSeconds };
    let events = 0;
    try {
      for await (const { type, object } of api.watch(resource, this.#selection(progress.namespace), watching)) {
        events += 1;
        if (type === 'DELETED') this.#drop(placeText(object.metadata));
        else if (type !== 'BOOKMARK') this.#take(object);
        progress.version = object.metadata.resourceVersion;
      }
    } finally {
      if (events > 0 || clock.now() - startedAt >= SHORT_WATCH)
        Object.assign(progress, { failures: NO_FAILURE, said: '' });
    }
    if (events === 0 && clock.now() - startedAt < SHORT_WATCH) {
      throw new ApiError(`watch ${resource.plural}: it ended at once`, { status: 0, reason: 'Ended' });
    }
    onRestart?.(resource.plural, 'end');
  }

  async #recover(problem: unknown, progress: Progress): Promise<void> {
    const { resource, log, onRestart, random = Math.random } = this.#options;
    const expired = isStatus(problem, 410);
    onRestart?.(resource.plural, expired ? 'expired' : 'error');
    progress.failures = countFailure(progress.failures, problem);
    if (losesChanges(problem) || progress.failures.count > FAILURES_BEFORE_LIST) progress.version = undefined;
    const retryIn = retryDelay(problem, progress.failures, random());
    const remedy = problem instanceof ApiError ? REMEDIES[problem.status] : undefined;
    const fields = { resource: resource.plural, namespace: progress.namespace, problem: textOf(problem), retryIn };
    if (expired) log.debug('what is known is too old to go on from: listing again', fields);
    else if (progress.said !== fields.problem)
      log.warn(remedy ?? 'the API server does not answer as it should: trying again', fields);
    progress.said = fields.problem;
    await this.#pause(retryIn);
  }

  #isClosed(): boolean {
    return this.#stop.signal.aborted;
  }

  async #pause(milliseconds: number): Promise<void> {
    const { signal } = this.#stop;
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        cancel();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const cancel = this.#options.clock.after(milliseconds, end);
      signal.addEventListener('abort', end);
    });
  }

  #selection(namespace: string | undefined): Selection {
    const { labelSelector, fieldSelector, metadataOnly } = this.#options;
    return { namespace, labelSelector, fieldSelector, metadataOnly };
  }

  #take(object: KubeObject): string {
    const { resourceVersion, uid } = object.metadata;
    const place = placeText(object.metadata);
    const present = this.#index.byPlace.get(place)?.metadata;
    if (present?.resourceVersion === resourceVersion && present?.uid === uid) return place;
    const { transform = (stripped: KubeObject) => stripWeight(stripped) as T } = this.#options;
    const current = transform(object);
    this.#tell(this.#index.set(current), current);
    return place;
  }

  #drop(place: string): void {
    const old = this.#index.delete(place);
    if (old) this.#tell(old, undefined);
  }

  #tell(old: T | undefined, current: T | undefined): void {
    for (const listener of this.#listeners) {
      try {
        listener(old, current);
      } catch (problem) {
        // The store is current even if a listener fails.
        this.#options.log.error('a listener failed', {
          resource: this.#options.resource.plural,
          problem: textOf(problem),
        });
      }
    }
  }
}

interface Progress {
  namespace: string | undefined;
  version: string | undefined;
  failures: Failures;
  /** The last logged problem; empty after a recovery. */
  said: string;
}

const NO_FAILURE: Failures = { count: 0, away: false };

function losesChanges(problem: unknown): boolean {
  if (!(problem instanceof ApiError)) return true;
  const { status, reason, causes } = problem;
  return (
    status === 410 || reason === 'InvalidAnswer' || causes.some((cause) => cause.reason === 'ResourceVersionTooLarge')
  );
}

function textOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}
