import type { Clock } from '#operator/queue';
import { findHostAddress } from './find-host-address.ts';

/** Milliseconds after which an engine that did not answer is asked again. */
const AGAIN = 60_000;

interface HostAddressOptions {
  environment: NodeJS.ProcessEnv;
  clock: Clock;
  /** Called when an engine that did not answer at first has an address after all. */
  found: () => void;
}

/**
 * The address by which containers reach this machine. Podman is asked once; where it does not answer, that is no answer for good, and it is
 * asked again while nobody waits for it.
 */
export class HostAddress {
  readonly #in: HostAddressOptions;
  #address: Promise<string | undefined> | undefined;
  #isClosed = false;
  #stopWaiting: () => void = () => undefined;

  constructor(options: HostAddressOptions) {
    this.#in = options;
  }

  /** Undefined where containers need none, and where nobody can say yet. */
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
