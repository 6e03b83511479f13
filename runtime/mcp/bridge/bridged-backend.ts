import type { Backend as BackendConfig } from '#crds/run-config/backend';
import type { Credential } from '#runtime/outgoing/credential';
import type { Authorizer } from '#runtime/policy/authorizer';
import type { WebhookGate } from '#runtime/webhooks/webhook-call';
import type { Era } from '../era.ts';
import type { Backend, BackendCall, BridgeLoad, RunningCall } from '../backends/backend.ts';
import type { Breaker } from '../backends/breaker.ts';
import { bridgeFor, type BackendHealth } from '../backends/health.ts';
import { EraLearner, LateCall, type LearnSettings } from './learn-eras.ts';

/** Sends calls of one era to a backend of the other one, and translates their answers. */
export interface Bridge {
  send(call: BackendCall): RunningCall;
  /** Absent: it holds nothing at the backend. */
  readonly load?: BridgeLoad;
  /** Ends streams that only listen. Calls continue. */
  retire(): void;
  /** Settles when the backend knows that the sessions of the bridge are over. */
  close(): Promise<void>;
}

/** The bridge for calls of each era. It is made at its first call. */
export type BridgeMakers = Readonly<Record<Era, (backend: Backend) => Bridge>>;

const NO_LOAD: BridgeLoad = { sessions: 0, parked: 0 };

/** A backend that serves clients of both eras. A call of an era that the backend speaks passes unchanged. */
export class BridgedBackend implements Backend {
  readonly name: string;
  readonly config: BackendConfig;
  readonly credential: Credential;
  readonly authorizer: Authorizer | undefined;
  readonly webhooks: WebhookGate | undefined;
  readonly health: BackendHealth;
  readonly breaker: Breaker;
  readonly sessions: boolean;
  readonly places: Backend['places'];
  readonly onProcess?: NonNullable<Backend['onProcess']>;
  readonly pickAddress?: NonNullable<Backend['pickAddress']>;
  readonly #own: Backend;
  readonly #learner: EraLearner;
  readonly #makers: BridgeMakers;
  readonly #bridges: Partial<Record<Era, Bridge>> = {};

  constructor(backend: Backend, makers: BridgeMakers, learning: LearnSettings) {
    this.name = backend.name;
    this.config = backend.config;
    this.credential = backend.credential;
    this.authorizer = backend.authorizer;
    this.webhooks = backend.webhooks;
    this.health = backend.health;
    this.breaker = backend.breaker;
    this.sessions = backend.sessions;
    this.places = backend.places;
    if (backend.onProcess) this.onProcess = backend.onProcess.bind(backend);
    if (backend.pickAddress) this.pickAddress = backend.pickAddress.bind(backend);
    this.#own = backend;
    this.#learner = new EraLearner(backend, learning);
    this.#makers = makers;
  }

  get running(): number {
    return this.#own.running;
  }

  get bridged(): BridgeLoad {
    return this.#bridges.modern?.load ?? NO_LOAD;
  }

  /** Sessions at a modern backend exist in the gateway alone. */
  get losesState(): boolean {
    return this.#own.losesState && bridgeFor(this.health, 'legacy') === undefined;
  }

  get starts(): number | undefined {
    return this.#own.starts;
  }

  get warnings(): readonly string[] {
    return this.#own.warnings ?? [];
  }

  oldestCall(): number {
    return this.#own.oldestCall();
  }

  send(call: BackendCall): RunningCall {
    if (!this.#learner.isNeededFor(call)) return this.#send(call);
    return new LateCall(this.#learner.learn(call.identity), () => this.#send(call));
  }

  #send(call: BackendCall): RunningCall {
    const { era, isProbe } = call;
    // Before the first probe the backend may speak either era. A probe asks for what it speaks.
    if (isProbe === true || bridgeFor(this.health, era) === undefined) return this.#own.send(call);
    return (this.#bridges[era] ??= this.#makers[era](this.#own)).send(call);
  }

  async retire(): Promise<void> {
    for (const bridge of Object.values(this.#bridges)) bridge.retire();
    await this.#own.retire?.();
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#bridges).map((bridge) => bridge.close()));
    await this.#own.close();
  }
}
