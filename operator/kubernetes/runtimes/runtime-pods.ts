import type { RuntimeStatus } from '#crds/run-config/runtime-status';
import { Semaphore } from '#lib/limits/semaphore';
import { type LastProbe, lastProbeOf, NO_ANSWER, NO_PROBE } from '#operator/last-probe';
import type { Clock } from '#operator/queue';
import type { PodStatus } from './fetch-pod-status.ts';
import { mergeStatuses } from './merge-statuses.ts';
import { StatusQuota, weightOf } from './status-quota.ts';
import type { WatchedPod } from '../observe/view-of-pod.ts';
import { type Expected, hasTakenOver } from './taken-over.ts';

/** Milliseconds between two requests to a pod that does not serve the expected document yet; doubled each time. */
const FIRST_LOOK = 200;
const SLOWEST_LOOK = 5000;
/** Milliseconds between two pushes of the same document to a pod; doubled each time. */
const FIRST_PUSH = 700;
const SLOWEST_PUSH = 300_000;
/** Milliseconds for which unknown backends and uncounted tools keep the intervals short. */
const BACKENDS_COME = 70_000;
/** Milliseconds for which files may arrive after the document that names them. */
const FILES_COME = 10_000;
/** Concurrent requests to pods of all namespaces. */
const AT_ONCE = 50;

export interface Runtime extends Expected {
  namespace: string;
  child: string;
  /** Name of the ConfigMap with its document. A pod of an older schema mounts another one. */
  configMap: string;
  /** Tokens for /status, the newest first. */
  tokens: readonly string[];
  /** Milliseconds between two requests after the takeover. */
  interval: number;
}

interface Watched {
  pod: WatchedPod;
  lastProbe: LastProbe<PodStatus>;
  /** Milliseconds. */
  lookDelay: number;
  pushDelay: number;
  pushAt: number;
  newSince: number;
  cancel: () => void;
  /** Resolves when the pod was asked once, or is gone. */
  asked: PromiseWithResolvers<undefined>;
}

interface RuntimePodsOptions {
  clock: Clock;
  /** Between 0 and 1. */
  random: () => number;
  fetchStatus: (ip: string, tokens: readonly string[]) => Promise<PodStatus | typeof NO_ANSWER | undefined>;
  /** Makes the kubelet refresh the files of a pod now. Must not reject. */
  push: (pod: WatchedPod, digest: string) => Promise<void>;
  changed: (place: string) => void;
}

type ObservedPods = RuntimeStatus & { current: boolean };

/** Reads the status of each runtime's pods periodically, and pushes the document until they serve it. */
export class RuntimePods {
  readonly #options: RuntimePodsOptions;
  readonly #runtimes = new Map<string, Runtime>();
  readonly #pods = new Map<string, Map<string, Watched>>();
  readonly #semaphore = new Semaphore({ total: AT_ONCE });
  readonly #quota = new StatusQuota();
  #closed = false;

  constructor(options: RuntimePodsOptions) {
    this.#options = options;
  }

  expect(runtime: Runtime): void {
    const place = keyOf(runtime.namespace, runtime.child);
    const former = this.#runtimes.get(place);
    this.#runtimes.set(place, runtime);
    if (former && former.digest === runtime.digest && former.tokens.join() === runtime.tokens.join()) return;
    for (const watched of this.#pods.get(place)?.values() ?? []) this.#lookSoon(place, watched);
  }

  forget(namespace: string, child: string): void {
    this.#runtimes.delete(keyOf(namespace, child));
  }

  told(old: WatchedPod | undefined, current: WatchedPod | undefined): void {
    const pod = current ?? old;
    if (pod?.maker?.kind !== 'Deployment' || this.#closed) return;
    const place = keyOf(pod.metadata.namespace ?? '', pod.maker.name);
    if (current && !current.gone) this.#follow(place, current);
    else this.#leave(place, pod);
  }

  observed(namespace: string, child: string): ObservedPods | undefined {
    const place = keyOf(namespace, child);
    const runtime = this.#runtimes.get(place);
    const pods = [...(this.#pods.get(place)?.values() ?? [])];
    const merged = mergeStatuses(
      pods.flatMap((watched) => (watched.lastProbe.answer ? [this.#statusOf(watched, watched.lastProbe.answer)] : [])),
    );
    if (!merged) return undefined;
    return {
      ...merged,
      current: runtime !== undefined && pods.every(({ lastProbe }) => hasTakenOver(lastProbe.answer, runtime)),
    };
  }

  /** Resolves when each reachable pod was asked once, or after `within` ms: a new leader would otherwise report unanswered requests. */
  async asked(namespace: string, within: number): Promise<void> {
    const places = [...this.#runtimes.keys()].filter((place) => place.startsWith(`${namespace}/`));
    const pods = places.flatMap((place) => [...(this.#pods.get(place)?.values() ?? [])]);
    const all = Promise.all(pods.filter(({ pod }) => pod.ip !== undefined).map(({ asked }) => asked.promise));
    await new Promise<void>((resolve) => {
      const cancel = this.#options.clock.after(within, resolve);
      void all.then(() => {
        cancel();
        resolve();
      });
    });
  }

  close(): void {
    this.#closed = true;
    for (const pods of this.#pods.values()) for (const { cancel } of pods.values()) cancel();
    this.#pods.clear();
  }

  /** Hides an early refusal: a kubelet may deliver a document before the files that it names. */
  #statusOf({ newSince }: Watched, { status }: PodStatus): RuntimeStatus {
    const files = this.#options.clock.now() - newSince < FILES_COME;
    return files ? { ...status, config_refused: null } : status;
  }

  #follow(place: string, pod: WatchedPod): void {
    const pods = this.#pods.get(place) ?? new Map<string, Watched>();
    this.#pods.set(place, pods);
    const uid = pod.metadata.uid ?? '';
    const known = pods.get(uid);
    if (known?.pod.ip === pod.ip && known) {
      known.pod = pod;
      return;
    }
    known?.cancel();
    const asked = known?.asked ?? Promise.withResolvers<undefined>();
    const watched: Watched = { pod, lastProbe: NO_PROBE, ...this.#fresh(), cancel: () => undefined, asked };
    pods.set(uid, watched);
    this.#options.changed(place);
    if (pod.ip !== undefined) this.#lookSoon(place, watched);
  }

  #leave(place: string, { metadata }: WatchedPod): void {
    const pods = this.#pods.get(place);
    const watched = pods?.get(metadata.uid ?? '');
    if (!watched) return;
    watched.cancel();
    watched.asked.resolve(undefined);
    pods?.delete(metadata.uid ?? '');
    this.#quota.release(metadata.uid ?? '');
    if (pods?.size === 0) this.#pods.delete(place);
    this.#options.changed(place);
  }

  #fresh(): Pick<Watched, 'lookDelay' | 'pushDelay' | 'pushAt' | 'newSince'> {
    const now = this.#options.clock.now();
    return { lookDelay: FIRST_LOOK, pushDelay: FIRST_PUSH, pushAt: now, newSince: now };
  }

  #lookSoon(place: string, watched: Watched): void {
    watched.cancel();
    Object.assign(watched, this.#fresh());
    this.#lookAfter(place, watched, 0);
  }

  #lookAfter(place: string, watched: Watched, milliseconds: number): void {
    if (this.#closed) return;
    let cancelled = false;
    const cancelTimer = this.#options.clock.after(milliseconds, () => {
      const key = watched.pod.metadata.namespace ?? '';
      void this.#semaphore.run({ key }, () => this.#look(place, watched, () => cancelled));
    });
    watched.cancel = () => {
      cancelled = true;
      cancelTimer();
    };
  }

  async #look(place: string, watched: Watched, cancelled: () => boolean): Promise<void> {
    const runtime = this.#runtimes.get(place);
    const { ip } = watched.pod;
    if (cancelled() || ip === undefined) return;
    const result = runtime && (await this.#options.fetchStatus(ip, runtime.tokens));
    if (cancelled()) return;
    const before = watched.lastProbe.answer;
    watched.lastProbe = lastProbeOf(watched.lastProbe, this.#withinQuota(watched.pod, result));
    const { answer, unanswered } = watched.lastProbe;
    const differs = JSON.stringify(answer) !== JSON.stringify(before);
    if (unanswered === 1) watched.lookDelay = FIRST_LOOK;
    if (runtime) watched.asked.resolve(undefined);
    if (runtime && answer && !hasTakenOver(answer, runtime)) this.#push(watched, runtime);
    this.#lookAfter(place, watched, this.#nextLook(watched, runtime));
    if (differs) this.#options.changed(place);
  }

  /** Returns the answer; undefined if it exceeds the quota, like an answer that exceeds its own limit. */
  #withinQuota(
    { metadata: { namespace = '', uid = '' } }: WatchedPod,
    answer: PodStatus | typeof NO_ANSWER | undefined,
  ) {
    // A pod that does not answer keeps its last status for a while.
    if (answer === NO_ANSWER) return NO_ANSWER;
    if (answer && this.#quota.take(namespace, uid, weightOf(answer))) return answer;
    this.#quota.release(uid);
    return undefined;
  }

  #nextLook(watched: Watched, runtime: Runtime | undefined): number {
    const { clock, random } = this.#options;
    if (runtime && isSettled(watched, runtime, clock.now())) return runtime.interval * (0.8 + 0.4 * random());
    const delay = watched.lookDelay;
    watched.lookDelay = Math.min(delay * 2, SLOWEST_LOOK);
    return delay;
  }

  #push(watched: Watched, { digest, configMap }: Runtime): void {
    const now = this.#options.clock.now();
    if (digest === undefined || now < watched.pushAt || !watched.pod.configMaps.includes(configMap)) return;
    watched.pushAt = now + watched.pushDelay;
    watched.pushDelay = Math.min(watched.pushDelay * 2, SLOWEST_PUSH);
    void this.#options.push(watched.pod, digest);
  }
}

function keyOf(namespace: string, child: string): string {
  return `${namespace}/${child}`;
}

function isSettled({ lastProbe: { answer, unanswered }, newSince }: Watched, runtime: Runtime, now: number): boolean {
  if (unanswered > 0 || !answer?.status.ready || !hasTakenOver(answer, runtime)) return false;
  if (now - newSince > BACKENDS_COME) return true;
  // A runtime lists its backends again after a takeover, and has no counts until then.
  return answer.status.tools !== null && answer.status.backends.every(({ phase }) => phase === 'ready');
}
