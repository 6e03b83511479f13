import type { Clock } from '#operator/queue';
import { findHostAddress } from './find-host-address.ts';

/** Milliseconds until an engine that did not answer is asked again. */
const AGAIN = 60_000;

interface HostAddressOptions {
  environment: NodeJS.ProcessEnv;
  clock: Clock;
  /** An engine that did not answer at first reports an address later. */
  found: () => void;
}

/** Asks podman once; after a missing answer, again in the background. */
export class HostAddress {
  readonly #in: HostAddressOptions;
  #address: Promise<string | undefined> | undefined;
  #isClosed = false;
  #stopWaiting: () => void = () => undefined;

  constructor(options: HostAddressOptions) {
    this.#in = options;
  }

  /** Returns undefined when containers need no address, and while it is not known yet. */
  get(): Promise<string | undefined> {
    this.#address ??= this.#ask();
    return this.#address;
  }

  close(): void {
    this.#isClosed = true;
    this.#stopWaiting();
  }

  async #ask(): Promise<string | undefined> {
    try {
      return await findHostAddress(this.#in.environment);
    } catch {
      if (!this.#isClosed) this.#stopWaiting = this.#in.clock.after(AGAIN, () => void this.#askAgain());
      return undefined;
    }
  }

  async #askAgain(): Promise<void> {
    const address = await this.#ask();
    if (address === undefined || this.#isClosed) return;
    this.#address = Promise.resolve(address);
    this.#in.found();
  }
}
