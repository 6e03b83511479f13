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
  /** Only metadata is fetched and kept: for Secrets. */
  metadataOnly?: boolean;
  /** What is kept of each object; without, all but managed fields and the copy that `kubectl apply` leaves. May change its argument. */
  transform?: (object: KubeObject) => T;
  clock: Clock;
  /** Between 0 and 1, for the jitter of delays. */
  random?: () => number;
  log: Log;
  /** Told of each watch that ended, and why. */
  onRestart?: (resource: string, why: RestartReason) => void;
  /** Milliseconds without a byte after which a watch is begun anew. */
  silence?: number;
}

export type RestartReason = 'end' | 'expired' | 'error';

/** A change of one object: `old` is absent for one that appears, `current` for one that goes. Must not throw. */
type OnChange<T> = (old: T | undefined, current: T | undefined) => void;

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

const PAGE = 500;
/** Bookmarks come once a minute: longer silence is a connection that died without a word. */
const SILENCE = 75_000;
/** Seconds after which the API server ends a watch; up to twice as many. */
const SHORTEST_WATCH = 300;
/** A watch that ends sooner, without an event, did not work. */
const SHORT_WATCH = 1000;
/** After so many failures in a row what is known is too old to go on from. */
const FAILURES_BEFORE_LIST = 5;

/** Why a list or watch is refused for long, said with the remedy. */
const REMEDIES: Record<number, string> = {
  401: 'the API server does not know this account: check the token or the kubeconfig',
  403: 'the operator may not read it: install the roles of the chart, or limit it by --watch-namespace',
  404: 'the API server does not know this kind: install the custom resource definitions, or check --api-group',
};

/** Reads and keeps the objects of one resource. Nothing happens before `start`. */
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
    // Nobody may be waiting when it is closed.
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

  /** Reads everything, page by page, and returns the version from which to watch. */
  async #list(namespace: string | undefined): Promise<string> {
    try {
      return await this.#readPages(namespace, PAGE);
    } catch (problem) {
      // The later pages took longer than the API server remembers the first.
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

  /** Takes events until the watch ends. Throws when it fails, and when it ended too soon to be one. */
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

  /** Waits until it is worth another attempt. */
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

  /** Keeps an object and returns its place. */
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
        // The store is current whatever a listener does.
        this.#options.log.error('a listener failed', {
          resource: this.#options.resource.plural,
          problem: textOf(problem),
        });
      }
    }
  }
}

/** How far one namespace, or all, has been read. */
interface Progress {
  namespace: string | undefined;
  version: string | undefined;
  failures: Failures;
  /** The problem that was logged last; empty since it works again. */
  said: string;
}

const NO_FAILURE: Failures = { count: 0, away: false };

/** Whether changes after the last version can no longer be had one by one. */
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
