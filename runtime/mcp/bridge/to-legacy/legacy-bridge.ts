import type { BackendCall, BridgeLoad, RunningCall } from '#runtime/mcp/backends/backend';
import { isJsonObject } from '#runtime/mcp/envelope/decode-request';
import type { Bridge } from '../bridged-backend.ts';
import type { BridgeDeps } from './bridge-deps.ts';
import { BridgedListener } from './bridged-listener.ts';
import { BridgedCall } from './bridged-call.ts';
import { PendingRequest } from './pending-request.ts';
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
    const request = new PendingRequest(call, this.#deps.backend.name);
    if (request.message.spans['params.requestState'] && takesInput(call.method)) this.#retry(request);
    else this.#begin(request);
    return request;
  }

  #listen(call: BackendCall): RunningCall {
    const listener = new BridgedListener(call, this.#pool, this.#deps.backend.name);
    void listener.start();
    return listener;
  }

  get load(): BridgeLoad {
    return this.#pool.load;
  }

  retire(): void {
    this.#pool.retire();
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #begin(request: PendingRequest): void {
    const refusal = this.#deps.checkedHeaders.refusal(request.call, request.message);
    if (refusal) request.deliver({ render: () => refusal });
    else new BridgedCall(request, this.#pool, this.#deps).start();
  }

  /** A retry with a state resumes its call, and never begins another one. */
  #retry(request: PendingRequest): void {
    const state = this.#stateOf(request);
    const { body, spans } = request.message;
    const responses = valueAt(body, spans['params.inputResponses']) ?? {};
    if (!state) request.deliver(invalidState);
    else if (!isJsonObject(responses)) request.deliver(invalidResponses);
    else if (state.call === undefined) {
      const isOpened = Object.values(responses).every((one) => isJsonObject(one) && one.action === 'accept');
      if (isOpened) this.#begin(request);
      else request.deliver(linkNotOpened(request.call.method));
    } else {
      this.#deps.parkedCalls.retry(request, state.call, state);
    }
  }

  #stateOf({ call, message }: PendingRequest): RequestState | undefined {
    const { backend, parkedCalls, wallClock } = this.#deps;
    const sealed = valueAt(message.body, message.spans['params.requestState']);
    if (typeof sealed !== 'string') return undefined;
    const state = parkedCalls.open(sealed, bindingOf(call, backend.name, message));
    return state && state.expiresAt > wallClock() ? state : undefined;
  }
}
