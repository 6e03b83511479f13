import type { BackendCall, RunningCall } from '#runtime/mcp/backends/backend';
import { isJsonObject } from '#runtime/mcp/envelope/decode-request';
import type { Bridge } from '../bridged-backend.ts';
import type { BridgeDeps } from './bridge-deps.ts';
import { BridgedListener } from './bridged-listener.ts';
import { BridgedCall } from './bridged-call.ts';
import { ClientLeg } from './client-leg.ts';
import { invalidResponses, invalidState, linkNotOpened } from './input-required.ts';
import { takesInput } from './input-round.ts';
import { valueAt } from './modern-message.ts';
import { bindingOf, type RequestState } from './request-state.ts';
import { SessionPool } from './session-pool.ts';

/** Serves calls of revision 2026-07-28 by a backend of older revisions. */
export class LegacyBridge implements Bridge {
  readonly #deps: BridgeDeps;
  readonly #pool: SessionPool;

  constructor(deps: BridgeDeps) {
    this.#deps = deps;
    this.#pool = new SessionPool(deps);
  }

  send(call: BackendCall): RunningCall {
    if (call.method === 'subscriptions/listen') return this.#listen(call);
    const leg = new ClientLeg(call, this.#deps.backend.name);
    if (leg.message.spans['params.requestState'] && takesInput(call.method)) this.#retry(leg);
    else this.#begin(leg);
    return leg;
  }

  #listen(call: BackendCall): RunningCall {
    const listener = new BridgedListener(call, this.#pool, this.#deps.backend.name);
    void listener.start();
    return listener;
  }

  get parked(): number {
    return this.#pool.parked;
  }

  retire(): void {
    this.#pool.retire();
  }

  close(): void {
    this.#pool.close();
  }

  #begin(leg: ClientLeg): void {
    const refusal = this.#deps.checkedHeaders.refusal(leg.call, leg.message);
    if (refusal) leg.deliver({ render: () => refusal });
    else new BridgedCall(leg, this.#pool, this.#deps).start();
  }

  /** A retry with a state resumes its call, and never begins another one. */
  #retry(leg: ClientLeg): void {
    const state = this.#stateOf(leg);
    const { body, spans } = leg.message;
    const responses = valueAt(body, spans['params.inputResponses']) ?? {};
    if (!state) leg.deliver(invalidState);
    else if (!isJsonObject(responses)) leg.deliver(invalidResponses);
    else if (state.call === undefined) {
      const isOpened = Object.values(responses).every((one) => isJsonObject(one) && one.action === 'accept');
      if (isOpened) this.#begin(leg);
      else leg.deliver(linkNotOpened);
    } else {
      this.#deps.parkedCalls.retry(leg, state.call, state);
    }
  }

  #stateOf({ call, message }: ClientLeg): RequestState | undefined {
    const { backend, parkedCalls, wallClock } = this.#deps;
    const sealed = valueAt(message.body, message.spans['params.requestState']);
    if (typeof sealed !== 'string') return undefined;
    const state = parkedCalls.open(sealed, bindingOf(call, backend.name, message));
    return state && state.expiresAt > wallClock() ? state : undefined;
  }
}
