import type { Identity } from '#runtime/incoming/identity';
import type { Backend, BackendCall, RunningCall } from '#runtime/mcp/backends/backend';
import { probe } from '#runtime/mcp/backends/probe';

export interface LearnSettings {
  /** Milliseconds for each request. */
  readonly deadline: number;
  /** Version of the gateway. */
  readonly version: string;
}

/** Asks a backend for its eras with the credential of a caller: the gateway's own probes have none, and get a 401. */
export class EraLearner {
  readonly #backend: Backend;
  readonly #settings: LearnSettings;
  /** By `Identity.key`. */
  readonly #asking = new Map<string, Promise<void>>();

  constructor(backend: Backend, settings: LearnSettings) {
    this.#backend = backend;
    this.#settings = settings;
  }

  isNeededFor({ isProbe, isOneWay, idText }: BackendCall): boolean {
    const { health, credential } = this.#backend;
    return health.eras === undefined && credential.perUser && !isProbe && !isOneWay && idText !== undefined;
  }

  /** Settles when the eras are known, or this caller cannot learn them. Never rejects. */
  learn(identity: Identity): Promise<void> {
    const running = this.#asking.get(identity.key);
    if (running) return running;
    const asking = this.#ask(identity)
      .catch(() => undefined)
      .finally(() => this.#asking.delete(identity.key));
    this.#asking.set(identity.key, asking);
    return asking;
  }

  async #ask(identity: Identity): Promise<void> {
    const finding = await probe(this.#backend, { ...this.#settings, identity, isProbe: false });
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
