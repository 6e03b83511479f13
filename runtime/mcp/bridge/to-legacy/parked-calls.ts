import { randomUUID } from 'node:crypto';
import { addressBucket } from '#lib/connections/address-bucket';
import { Quota } from '#lib/limits/quota';
import type { PendingRequest } from './pending-request.ts';
import { FinishedCalls } from '../finished-calls.ts';
import { ForwardedRetries, TakenRetries } from './forwarded-retries.ts';
import { callLost } from './input-required.ts';
import type { RetryEvent } from './retry-event.ts';
import { readModernMessage, valueAt } from './modern-message.ts';
import { bindingOf, OwnSeal, type RequestState, type StateSeal } from './request-state.ts';

/** A call that waits, or waited, for its client's input. */
export interface ParkedCall {
  readonly call: PendingRequest['call'];
  readonly backend: string;
  /** Takes the client's retry of the request. */
  retry(request: PendingRequest, state: RequestState): void;
}

/** The secret and the events of the replicas of one server. */
interface Sharing {
  /** Undefined while they share no secret. */
  readonly stateSeal: StateSeal | undefined;
  /** Sends an event to the other replicas. */
  tell(event: RetryEvent): void;
}

const ALONE: Sharing = { stateSeal: undefined, tell: () => undefined };

export interface ParkedPlace {
  readonly id: string;
  /**
   * The call is over: its outcome stays for repeated and late retries. `isAwaited`: no client has the outcome yet. `bytes`: size of the
   * outcome.
   */
  release(isAwaited: boolean, bytes: number): void;
}

/** Milliseconds for one round of input. */
export const ROUND_TIME = 600_000;
/** Milliseconds for which an outcome stays that a client has got. */
export const KEPT = 60_000;
const MOST = 1_000;
const MOST_OF_PRINCIPAL = 16;
/** Several anonymous callers may have one address. */
const MOST_OF_ADDRESS = 100;

/** All calls of this process that wait for input, at any backend. */
export class ParkedCalls {
  readonly #own = new OwnSeal();
  readonly #sharing: () => Sharing;
  readonly #forwarded: ForwardedRetries;
  readonly #taken: TakenRetries;
  readonly #total = new Quota({ total: MOST });
  readonly #perPrincipal = new Quota({ perKey: MOST_OF_PRINCIPAL });
  readonly #perAddress = new Quota({ perKey: MOST_OF_ADDRESS });
  readonly #finished = new FinishedCalls((id) => this.#calls.delete(id));
  readonly #calls = new Map<string, ParkedCall>();
  #waiting = 0;

  constructor(sharing: () => Sharing = () => ALONE) {
    this.#sharing = sharing;
    const tell = (event: RetryEvent) => sharing().tell(event);
    this.#forwarded = new ForwardedRetries(tell);
    this.#taken = new TakenRetries(tell);
  }

  /** Number of calls that wait for a retry which may arrive at another replica. */
  get awaited(): number {
    return this.#sharing().stateSeal ? this.#waiting : 0;
  }

  seal(state: RequestState, binding: string): string {
    return (this.#sharing().stateSeal ?? this.#own).seal(state, binding);
  }

  /** Returns the state in a retry. Undefined: it has none, or one that was sealed for another call, caller or backend. */
  stateOf({ call, backend, message }: Pick<PendingRequest, 'call' | 'backend' | 'message'>): RequestState | undefined {
    const sealed = valueAt(message.body, message.spans['params.requestState']);
    if (typeof sealed !== 'string') return undefined;
    const binding = bindingOf(call, backend, message);
    return this.#sharing().stateSeal?.open(sealed, binding) ?? this.#own.open(sealed, binding);
  }

  /** @throws QuotaExceeded */
  add(call: ParkedCall): ParkedPlace {
    const { source, identity } = call.call;
    const caller = source === undefined ? identity.key : addressBucket(source);
    this.#total.check(caller);
    const leaveOwn = (source === undefined ? this.#perPrincipal : this.#perAddress).take(caller);
    const leave = this.#total.take(caller);
    this.#waiting += 1;
    const id = randomUUID();
    this.#calls.set(id, call);
    return {
      id,
      release: (isAwaited, bytes) => {
        leaveOwn();
        leave();
        this.#waiting -= 1;
        this.#finished.add(id, { caller, bytes, milliseconds: isAwaited ? ROUND_TIME + KEPT : KEPT });
      },
    };
  }

  /** Resumes the call `id`, here or at another replica. */
  retry(request: PendingRequest, id: string, state: RequestState): void {
    const call = this.#calls.get(id);
    if (call) call.retry(request, state);
    else if (this.#sharing().stateSeal) this.#forwarded.forward(request, id);
    else request.deliver(callLost);
  }

  /** Takes an event of another replica. */
  take(event: RetryEvent): void {
    if (event.type === 'retry_left') this.#taken.left(event.retry);
    else if (event.type !== 'retry') this.#forwarded.take(event);
    else this.#takeRetry(event);
  }

  /** The state proves that the client of this call sent the retry. The other replica has checked its end. */
  #takeRetry(event: Extract<RetryEvent, { type: 'retry' }>): void {
    const call = this.#calls.get(event.call);
    const message = call && readModernMessage(Buffer.from(event.body));
    const state = message && this.stateOf({ call: call.call, backend: call.backend, message });
    if (!call || state?.call !== event.call) return;
    const request = this.#taken.take(event, call);
    if (request) call.retry(request, state);
  }
}
