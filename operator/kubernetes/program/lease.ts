import type { Log } from '#lib/log/log';
import type { Clock } from '#operator/queue';
import { isStatus } from '../api/api-error.ts';
import type { KubeApi } from '../api/api.ts';
import type { KubeObject, OwnerReference, Place, Resource } from '../api/object.ts';

const LEASES: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', namespaced: true };

const NO_LEASE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };

/** The usual times of an election, in milliseconds: a killed holder is replaced within 5 s. */
export const USUAL_TIMES = { duration: 4000, renewWithin: 3000, giveUpAfter: 10_000, renewEvery: 1000, lookEvery: 500 };

/** Pauses vary by this share in both directions, so that processes do not ask at the same moment. */
export const JITTER = 0.2;

interface LeaseOptions {
  api: KubeApi;
  /** Namespace and name of the Lease; it is made when it is not there. */
  place: Required<Place>;
  /** Who this process is: different for each one that ever runs. */
  identity: string;
  /** Its `now` never jumps: time since some moment, not of day. */
  clock: Clock;
  /** Milliseconds since 1970, for people who read the Lease. Nothing is judged by it. */
  timeOfDay: () => number;
  random?: () => number;
  log: Log;
  /** The object that the Lease goes with; undefined where there is none. */
  owner?: OwnerReference | undefined;
  /** Milliseconds after its last sign of life in which nobody takes the Lease from its holder. */
  duration?: number;
  /** Milliseconds without a renewal after which the holder does nothing; less than `duration`, so that there are never two. */
  renewWithin?: number;
  /** Milliseconds without a renewal after which the holder gives up, although no other holder is known. */
  giveUpAfter?: number;
  /** Milliseconds between renewals. */
  renewEvery?: number;
  /** Milliseconds between looks at the Lease of another one: after a hand-over that is how long nobody leads. */
  lookEvery?: number;
}

/** The right to be the one that acts, among several processes. */
export interface Lease {
  /** Resolves when this process holds the Lease. */
  readonly acquired: Promise<void>;
  /** Resolves when it held the Lease and could not keep it: from then on another one may act. */
  readonly lost: Promise<void>;
  /** Whether this process may act now. False as soon as the time for a renewal is over, whatever runs or hangs. */
  isHeld(): boolean;
  /** Gives the Lease up, so that another one takes it at its next attempt, and resolves when no attempt runs any more. */
  handOver(): Promise<void>;
}

/** What a Lease says. A holder of '' is nobody. */
interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}

/** Takes part in the election from now on. */
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
  /** The Lease as it was seen last, and since when it has been seen like that. */
  #seen: { object: KubeObject; spec: string; since: number } | undefined;
  #held = false;
  #renewedAt = 0;
  #stopped = false;
  #wake: () => void = () => undefined;
  /** The problem that was logged last; empty since an attempt came to its end. */
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

  /** Takes, or keeps, the Lease where that is right. False when it is another's, or nothing could be learnt or written. */
  async #attempt(): Promise<boolean> {
    try {
      if (!this.#held || !this.#seen) await this.#look();
      const isFree = !this.#seen || this.#held || this.#isFree(this.#seen);
      if (isFree) await this.#write();
      this.#said = '';
      return isFree;
    } catch (problem) {
      // Somebody else wrote it, or took it away: look again.
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
      // Judged by how long it has looked the same from here: clocks of other machines count for nothing.
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

  /** Milliseconds until another holder's time is over if it does not renew; Infinity while nothing is known of it. */
  #untilFree(): number {
    if (!this.#seen) return Infinity;
    const { leaseDurationSeconds = this.#options.duration / 1000 } = specOf(this.#seen.object);
    const left = this.#seen.since + leaseDurationSeconds * 1000 - this.#options.clock.now();
    return left > 0 ? left : Infinity;
  }

  /** Whether another one holds what this one held. */
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

  /** Milliseconds since the last renewal. */
  #renewedFor(): number {
    return this.#options.clock.now() - this.#renewedAt;
  }

  /** Milliseconds in which the holder may still act. */
  #remaining(): number {
    return this.#options.renewWithin - this.#renewedFor();
  }

  /** For one request: not longer than the holder may act, where it may. Whole milliseconds, as timers take no fractions and clocks tell them. */
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

/** MicroTime (meta/v1): the API server refuses a time with three digits. */
export function microTime(timeOfDay: number): string {
  return new Date(timeOfDay).toISOString().replace('Z', '000Z');
}

function specOf({ spec }: KubeObject): LeaseSpec {
  return typeof spec === 'object' && spec !== null ? spec : {};
}
