import type { Dispatcher } from 'undici';
import { isLoopbackHost } from '#crds/parts/loopback';
import { BoundedMap } from '#runtime/bounded-map';
import { isPodAddress } from './pod-address.ts';

/** Every address that a name has now. @throws Error where it has none */
export type LookUp = (host: string) => Promise<readonly string[]>;

interface BackendPodsOptions {
  /** Name that has the address of each pod. */
  readonly host: string;
  /** Of the backend: what of it is no address is the same for each pod. */
  readonly url: URL;
  readonly lookUp: LookUp;
  /** `connections` null: as many as are asked for. */
  readonly createPool: (origin: string, connections: number | null) => Dispatcher;
  readonly connections: number;
  /** Milliseconds of the monotonic clock. */
  readonly now: () => number;
}

interface PodPools {
  readonly calls: Dispatcher;
  readonly streams: Dispatcher;
}

const LOOK_EVERY = 4_000;
/** An address that took no connection is not chosen for so long. */
const AVOIDED_FOR = 5_000;
/** Addresses of one name: what a Service has, and more. */
const MAX_PODS = 1_000;

/** The pods of a backend that has several: a session that one of them opened is known to that one only. */
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

  /** Looks now which pods there are. */
  look(): Promise<void> {
    return (this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    }));
  }

  /** Where the next session begins, in turn; undefined: nobody knows an address. */
  async pick(): Promise<string | undefined> {
    if (this.#addresses.length === 0) await this.look();
    const now = this.#options.now();
    const good = this.#addresses.filter((address) => (this.#avoided.get(address) ?? 0) <= now);
    const from = good.length > 0 ? good : this.#addresses;
    return from.length === 0 ? undefined : from[this.#next++ % from.length];
  }

  /** Whether the pod is there, as far as anybody knows. */
  has(address: string): boolean {
    return this.#addresses.length === 0 || this.#addresses.includes(address);
  }

  /** It took no connection. @returns whether there is another */
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
    const pools = { calls: createPool(origin, connections), streams: createPool(origin, null) };
    this.#pools.set(address, pools);
    return pools[kind];
  }

  /** One connection to it that nobody has used. */
  freshPool(address: string): Dispatcher {
    return this.#options.createPool(this.originOf(address), 1);
  }

  /** Ends what only listens. */
  async retire(): Promise<void> {
    await Promise.all([...this.#pools.values()].map(({ streams }) => streams.destroy()));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.flatMap(({ calls, streams }) => [calls.destroy(), streams.destroy()]));
  }

  async #look(): Promise<void> {
    let found: readonly string[];
    try {
      found = await this.#options.lookUp(this.#options.host);
    } catch {
      // Names fail for a moment; what was there is tried on.
      return;
    }
    const addresses = this.#podsAmong(found);
    if (this.#isClosed || addresses.length === 0) return;
    this.#addresses = addresses;
    for (const [address, { calls, streams }] of this.#pools) {
      if (this.has(address)) continue;
      this.#pools.delete(address);
      this.#avoided.delete(address);
      // A pod that leaves may still answer what it was asked.
      void calls.close();
      void streams.destroy();
    }
  }

  /** Callers' credentials go there: only a backend that is on this machine itself has pods here. */
  #podsAmong(found: readonly string[]): readonly string[] {
    const isHere = isLoopbackHost(this.#options.url.hostname);
    const pods = found.filter((address) => isHere || isPodAddress(address));
    return [...new Set(pods)].sort().slice(0, MAX_PODS);
  }
}
