import type { Dispatcher } from 'undici';
import { isLoopbackHost } from '#crds/parts/private-address';
import { BoundedMap } from '#runtime/bounded-map';
import { isPodAddress } from './pod-address.ts';

/** @throws Error if the name has no address */
export type LookUp = (host: string) => Promise<readonly string[]>;

interface BackendPodsOptions {
  /** Resolves to the address of each pod. */
  readonly host: string;
  readonly url: URL;
  readonly lookUp: LookUp;
  /** `connections` null: unlimited. */
  readonly createPool: (origin: string, connections: number | null) => Dispatcher;
  readonly connections: number;
  /** Milliseconds of the monotonic clock. */
  readonly now: () => number;
}

interface PodPools {
  readonly calls: Dispatcher;
  readonly streams: Dispatcher;
  /** For calls that may wait for their client. */
  readonly parkable: Dispatcher;
}

const LOOK_EVERY = 4_000;
/** Milliseconds. */
const AVOIDED_FOR = 5_000;
/** More than a Service has. */
const MAX_PODS = 1_000;

/** Only the pod that opened a session knows it. */
export class BackendPods {
  readonly #options: BackendPodsOptions;
  readonly #pools = new Map<string, PodPools>();
  readonly #avoided = new BoundedMap<string, number>(MAX_PODS);
  readonly #timer: NodeJS.Timeout;
  #addresses: readonly string[] = [];
  #next = 0;
  #isClosed = false;
  #looking: Promise<void> | undefined;

  constructor(options: BackendPodsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY).unref();
    void this.look();
  }

  look(): Promise<void> {
    return (this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    }));
  }

  /** Selects in round-robin order. Undefined: no address is known. */
  async pick(): Promise<string | undefined> {
    if (this.#addresses.length === 0) await this.look();
    const now = this.#options.now();
    const good = this.#addresses.filter((address) => (this.#avoided.get(address) ?? 0) <= now);
    const from = good.length > 0 ? good : this.#addresses;
    return from.length === 0 ? undefined : from[this.#next++ % from.length];
  }

  /** True as long as no address is known. */
  has(address: string): boolean {
    return this.#addresses.length === 0 || this.#addresses.includes(address);
  }

  /** @returns whether there is another pod */
  avoid(address: string): boolean {
    this.#avoided.set(address, this.#options.now() + AVOIDED_FOR);
    void this.look();
    return this.#addresses.some((other) => other !== address);
  }

  originOf(address: string): string {
    const { protocol, port } = this.#options.url;
    return `${protocol}//${address.includes(':') ? `[${address}]` : address}${port === '' ? '' : `:${port}`}`;
  }

  poolOf(address: string, kind: keyof PodPools): Dispatcher {
    const known = this.#pools.get(address);
    if (known) return known[kind];
    const { createPool, connections } = this.#options;
    const origin = this.originOf(address);
    const streams = createPool(origin, null);
    const pools = { calls: createPool(origin, connections), streams, parkable: createPool(origin, null) };
    this.#pools.set(address, pools);
    return pools[kind];
  }

  freshPool(address: string): Dispatcher {
    return this.#options.createPool(this.originOf(address), 1);
  }

  async retire(): Promise<void> {
    await Promise.all([...this.#pools.values()].map(({ streams }) => streams.destroy()));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.flatMap((all) => Object.values<Dispatcher>({ ...all }).map((pool) => pool.destroy())));
  }

  async #look(): Promise<void> {
    let found: readonly string[];
    try {
      found = await this.#options.lookUp(this.#options.host);
    } catch {
      // Name lookups may fail briefly, so the known addresses stay in use.
      return;
    }
    const addresses = this.#podsAmong(found);
    if (this.#isClosed || addresses.length === 0) return;
    this.#addresses = addresses;
    for (const [address, { calls, streams, parkable }] of this.#pools) {
      if (this.has(address)) continue;
      this.#pools.delete(address);
      this.#avoided.delete(address);
      // A terminating pod may still answer requests that it received.
      void calls.close();
      void parkable.close();
      void streams.destroy();
    }
  }

  /** Pods receive the callers' credentials. Only a loopback backend may have loopback pods. */
  #podsAmong(found: readonly string[]): readonly string[] {
    const isHere = isLoopbackHost(this.#options.url.hostname);
    const pods = found.filter((address) => isHere || isPodAddress(address));
    return [...new Set(pods)].sort().slice(0, MAX_PODS);
  }
}
