import type { Log } from '#lib/log/log';
import type { Clock } from '#operator/queue';
import { isStatus } from '../api/api-error.ts';
import type { KubeApi } from '../api/api.ts';
import type { KubeObject, OwnerReference, ObjectKey, Resource } from '../api/object.ts';

const LEASES: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', namespaced: true };

const NO_LEASE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };

/** The default times of the election, in milliseconds: a dead holder is replaced within 5 s. */
export const USUAL_TIMES = { duration: 4000, renewWithin: 3000, giveUpAfter: 10_000, renewEvery: 1000, lookEvery: 500 };

/** Relative variation of pauses, so that processes do not send requests at the same moment. */
export const JITTER = 0.2;

interface LeaseOptions {
  api: KubeApi;
  /** Namespace and name of the Lease, which is created if it is missing. */
  place: Required<ObjectKey>;
  /** Identity of this process, unique among all processes ever run. */
  identity: string;
  /** Monotonic: `now` is a duration, not a time of day. */
  clock: Clock;
  /** Milliseconds since 1970, for readers of the Lease. No decision depends on it. */
  timeOfDay: () => number;
  random?: () => number;
  log: Log;
  owner?: OwnerReference | undefined;
  /** Milliseconds after the last renewal before another process may take the Lease. */
  duration?: number;
  /** Milliseconds without a renewal after which the holder stops acting. Less than `duration`, so that two processes never act. */
  renewWithin?: number;
  /** Milliseconds without a renewal after which the holder gives up, even without another known holder. */
  giveUpAfter?: number;
  /** Milliseconds between renewals. */
  renewEvery?: number;
  /** Milliseconds between checks of another process's Lease: the longest time without a leader after a hand-over. */
  lookEvery?: number;
}

export interface Lease {
  readonly acquired: Promise<void>;
  /** Resolves when a held Lease is lost: from then on another process may act. */
  readonly lost: Promise<void>;
  /** Returns whether this process may act now. Returns false as soon as the time for a renewal has passed, even if an attempt hangs. */
  isHeld(): boolean;
  /** Releases the Lease, so that another process takes it at its next attempt. Resolves when no attempt is running. */
  handOver(): Promise<void>;
}

/** The spec of a Lease. The holder '' stands for none. */
interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}

export function holdLease(options: LeaseOptions): Lease {
  const election = new Election(options);
  void election.run();
  return election;
}

class Election implements Lease {
  readonly #options: Required<Omit<LeaseOptions, 'owner'>> & Pick<LeaseOptions, 'owner'>;
  readonly #acquired = Promise.withResolvers<undefined>();
  readonly #lost = Promise.withResolvers<undefined>();
  readonly #ended = Promise.withResolvers<undefined>();
  #seen: { object: KubeObject; spec: string; since: number } | undefined;
  #held = false;
  #renewedAt = 0;
  #stopped = false;
  #wake: () => void = () => undefined;
  /** The last logged problem; empty after a successful attempt. */
  #said = '';

  constructor(options: LeaseOptions) {
    this.#options = { ...USUAL_TIMES, random: Math.random, ...options };
  }

  get acquired(): Promise<void> {
    return this.#acquired.promise;
  }

  get lost(): Promise<void> {
    return this.#lost.promise;
  }

  isHeld(): boolean {
    return this.#held && this.#remaining() > 0;
  }

  async run(): Promise<void> {
    const { renewEvery, lookEvery, random } = this.#options;
    while (!this.#stopped) {
      const startedAt = this.#options.clock.now();
      if (await this.#attempt()) this.#keep(startedAt);
      else if (this.#held && (this.#isTaken() || this.#renewedFor() >= this.#options.giveUpAfter)) this.#lose();
      if (this.#isStopped()) break;
      const jitter = 1 - JITTER + 2 * JITTER * random();
      await this.#pause(this.#held ? renewEvery * jitter : Math.min(lookEvery * jitter, this.#untilFree()));
    }
    this.#ended.resolve(undefined);
  }

  async handOver(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    await this.#ended.promise;
    if (!this.isHeld() || !this.#seen) return;
    this.#held = false;
    const spec = { ...specOf(this.#seen.object), holderIdentity: '', leaseDurationSeconds: 1, renewTime: this.#now() };
    try {
      await this.#options.api.replace(LEASES, { ...this.#seen.object, spec }, { deadline: 2000 });
      this.#options.log.info('the Lease is handed over', { lease: this.#name() });
    } catch (problem) {
      this.#options.log.warn('the Lease could not be handed over: another one takes it when its time is over', {
        lease: this.#name(),
        problem: String(problem),
      });
    }
  }

  /** Takes or renews the Lease if allowed. Returns false if another process holds it, or if the request fails. */
  async #attempt(): Promise<boolean> {
    try {
      if (!this.#held || !this.#seen) await this.#look();
      const isFree = !this.#seen || this.#held || this.#isFree(this.#seen);
      if (isFree) await this.#write();
      this.#said = '';
      return isFree;
    } catch (problem) {
      // Another client changed or deleted it, so this process reads it again.
      if (isStatus(problem, 404, 409)) await this.#look().catch(() => undefined);
      else this.#warn(String(problem));
      return false;
    }
  }

  #warn(problem: string): void {
    if (this.#said !== problem) this.#options.log.warn('the Lease cannot be had', { lease: this.#name(), problem });
    this.#said = problem;
  }

  async #look(): Promise<void> {
    const { api, place, clock } = this.#options;
    try {
      const object = await api.get(LEASES, place, { deadline: this.#deadline() });
      const spec = JSON.stringify(object.spec);
      // Measures how long the Lease is unchanged by the own clock, as clocks of other machines may differ.
      const since = this.#seen?.spec === spec ? this.#seen.since : clock.now();
      this.#seen = { object, spec, since };
    } catch (problem) {
      if (!isStatus(problem, 404)) throw problem;
      this.#seen = undefined;
    }
  }

  async #write(): Promise<void> {
    const { api, place, identity, duration, clock } = this.#options;
    const before = this.#seen && specOf(this.#seen.object);
    const mine = before?.holderIdentity === identity;
    const spec: LeaseSpec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(duration / 1000),
      acquireTime: mine ? (before.acquireTime ?? this.#now()) : this.#now(),
      renewTime: this.#now(),
      leaseTransitions: (before?.leaseTransitions ?? 0) + (mine || !before ? 0 : 1),
    };
    const deadline = this.#deadline();
    const object = this.#seen
      ? await api.replace(LEASES, this.#owned({ ...this.#seen.object, spec }), { deadline })
      : await api.create(LEASES, this.#owned({ ...NO_LEASE, metadata: place, spec }), { deadline });
    this.#seen = { object, spec: JSON.stringify(object.spec), since: clock.now() };
  }

  #owned(lease: KubeObject): KubeObject {
    const { owner } = this.#options;
    return owner ? { ...lease, metadata: { ...lease.metadata, ownerReferences: [owner] } } : lease;
  }

  #isFree({ object, since }: { object: KubeObject; since: number }): boolean {
    const { holderIdentity = '', leaseDurationSeconds } = specOf(object);
    if (holderIdentity === '' || holderIdentity === this.#options.identity) return true;
    const duration = leaseDurationSeconds === undefined ? this.#options.duration : leaseDurationSeconds * 1000;
    return this.#options.clock.now() >= since + duration;
  }

  /** Returns the milliseconds until another holder's Lease expires; Infinity if its state is unknown. */
  #untilFree(): number {
    if (!this.#seen) return Infinity;
    const { leaseDurationSeconds = this.#options.duration / 1000 } = specOf(this.#seen.object);
    const left = this.#seen.since + leaseDurationSeconds * 1000 - this.#options.clock.now();
    return left > 0 ? left : Infinity;
  }

  #isTaken(): boolean {
    return this.#seen !== undefined && specOf(this.#seen.object).holderIdentity !== this.#options.identity;
  }

  #keep(renewedAt: number): void {
    this.#renewedAt = renewedAt;
    if (this.#held) return;
    this.#held = true;
    this.#options.log.info('this process leads', { lease: this.#name(), identity: this.#options.identity });
    this.#acquired.resolve(undefined);
  }

  #lose(): void {
    this.#held = false;
    this.#stopped = true;
    this.#options.log.error('the Lease is lost', { lease: this.#name() });
    this.#lost.resolve(undefined);
  }

  #renewedFor(): number {
    return this.#options.clock.now() - this.#renewedAt;
  }

  #remaining(): number {
    return this.#options.renewWithin - this.#renewedFor();
  }

  /** Returns at most the time that the holder may still act, in whole milliseconds, as timers accept no fractions. */
  #deadline(): number {
    const longest = Math.floor(this.#options.renewWithin / 2);
    const remaining = this.#held ? Math.floor(this.#remaining()) : longest;
    return remaining > 0 ? Math.min(longest, remaining) : longest;
  }

  #isStopped(): boolean {
    return this.#stopped;
  }

  async #pause(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#options.clock.after(milliseconds, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }

  #now(): string {
    return microTime(this.#options.timeOfDay());
  }

  #name(): string {
    return `${this.#options.place.namespace}/${this.#options.place.name}`;
  }
}

/** Formats a MicroTime (meta/v1). The API server refuses a time with three digits. */
export function microTime(timeOfDay: number): string {
  return new Date(timeOfDay).toISOString().replace('Z', '000Z');
}

function specOf({ spec }: KubeObject): LeaseSpec {
  return typeof spec === 'object' && spec !== null ? spec : {};
}
