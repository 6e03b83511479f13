import { BoundedMap } from '#runtime/bounded-map';
import type { Log } from '#runtime/telemetry/log';
import type { AuthStorage } from '../storage/storage.ts';
import { TICKET_LIFESPAN } from './issue-link-url.ts';

const LOOK_EVERY = 3_000;
const MAX_AWAITED = 500;

interface Awaited {
  readonly sub: string;
  readonly provider: string;
  readonly until: number;
}

/** Links that users were asked to make. The browser may reach another replica, so this replica polls the storage. */
export class AwaitedLinks {
  readonly #awaited = new BoundedMap<string, Awaited>(MAX_AWAITED);
  readonly #storage: AuthStorage;
  readonly #now: () => number;
  readonly #log: Log;
  readonly #linked: (sub: string) => void;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(deps: { storage: AuthStorage; now: () => number; log: Log }, linked: (sub: string) => void) {
    this.#storage = deps.storage;
    this.#now = deps.now;
    this.#log = deps.log;
    this.#linked = linked;
  }

  add(sub: string, provider: string): void {
    this.#awaited.set(`${provider}|${sub}`, { sub, provider, until: this.#now() + TICKET_LIFESPAN });
    this.#timer ??= setInterval(() => void this.look(), LOOK_EVERY).unref();
  }

  forget(sub: string): void {
    for (const [key, awaited] of this.#awaited) if (awaited.sub === sub) this.#awaited.delete(key);
    if (this.#awaited.size === 0) this.close();
  }

  /** Checks all awaited links, unless a check is running. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      for (const [key, { sub, provider, until }] of [...this.#awaited]) {
        if (until <= this.#now()) this.#awaited.delete(key);
        else if ((await this.#storage.getLink(sub, provider))?.state === 'linked') this.#linked(sub);
      }
    } catch (error) {
      this.#log.debug('links that are awaited could not be read', { error });
    } finally {
      this.#isLooking = false;
      if (this.#awaited.size === 0) this.close();
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
