import type { Identity } from '#runtime/incoming/identity';
import type { Backend, BackendCall, RunningCall } from '#runtime/mcp/backends/backend';
import { probe } from '#runtime/mcp/backends/probe';

export interface LearnSettings {
  /** Milliseconds for each request. */
  readonly deadline: number;
  /** Version of the gateway. */
  readonly version: string;
}

/** Key of the question that needs no caller's credential. */
const ANY_CALLER = '';

/**
 * Asks a backend for its eras before the first calls. A backend with a credential for each user answers the gateway's own probes with 401,
 * and so is asked with the credential of a caller.
 */
export class EraLearner {
  readonly #backend: Backend;
  readonly #settings: LearnSettings;
  /** By `Identity.key`, or `ANY_CALLER`. */
  readonly #asking = new Map<string, Promise<void>>();

  constructor(backend: Backend, settings: LearnSettings) {
    this.#backend = backend;
    this.#settings = settings;
  }

  /** A call of a legacy client begins with `initialize`, whose refusal causes a probe. */
  isNeededFor({ era, isProbe, isOneWay, idText }: BackendCall): boolean {
    const { health, credential } = this.#backend;
    if (health.eras !== undefined || isProbe || isOneWay || idText === undefined) return false;
    return credential.perUser || era === 'modern';
  }

  /** Settles when the eras are known, or this caller cannot learn them. Never rejects. */
  learn(identity: Identity): Promise<void> {
    const { perUser } = this.#backend.credential;
    const key = perUser ? identity.key : ANY_CALLER;
    const running = this.#asking.get(key);
    if (running) return running;
    const asking = this.#ask(identity, !perUser)
      .catch(() => undefined)
      .finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }

  async #ask(identity: Identity, isProbe: boolean): Promise<void> {
    const finding = await probe(this.#backend, { ...this.#settings, identity, isProbe });
    const { health } = this.#backend;
    if (!finding.eras || health.eras) return;
    health.eras = finding.eras;
    health.revisions = finding.revisions;
    health.capabilities ??= finding.capabilities;
  }
}

/** A call that is sent after a promise, unless its sender gave it up. */
export class LateCall implements RunningCall {
  #running: RunningCall | undefined;
  #isGivenUp = false;

  constructor(after: Promise<void>, send: () => RunningCall) {
    void after.then(() => {
      if (!this.#isGivenUp) this.#running = send();
    });
  }

  get isHeld(): boolean {
    return this.#running?.isHeld ?? false;
  }

  abort(cancelled?: boolean): void {
    this.#isGivenUp = true;
    this.#running?.abort(cancelled);
  }
}
