import type { BackendCall, BridgeLoad, RunningCall } from '#runtime/mcp/backends/backend';
import { NoAnswer } from '#runtime/mcp/backends/ask';
import { offersTasks } from '#runtime/mcp/backends/health';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { TASK_METHODS, TASKS } from '../../extensions.ts';
import type { Bridge } from '../bridged-backend.ts';
import type { BridgeDeps } from './bridge-deps.ts';
import { BridgedListener } from './bridged-listener.ts';
import { BridgedCall } from './bridged-call.ts';
import { BridgedTasks } from './bridged-tasks.ts';
import { PendingRequest } from './pending-request.ts';
import { invalidResponses, invalidState, linkNotOpened } from './input-required.ts';
import { takesInput } from '../../input-methods.ts';
import { valueAt } from './modern-message.ts';
import type { RequestState } from './request-state.ts';
import { SessionPool } from './session-pool.ts';

/** Serves calls of revision 2026-07-28 by a backend of older revisions. */
export class LegacyBridge implements Bridge {
  readonly #deps: BridgeDeps;
  readonly #pool: SessionPool;
  readonly #tasks: BridgedTasks;

  constructor(deps: BridgeDeps) {
    this.#deps = deps;
    this.#pool = new SessionPool(deps);
    this.#tasks = new BridgedTasks(this.#pool, deps);
  }

  send(call: BackendCall): RunningCall {
    if (call.method === 'subscriptions/listen') return this.#listen(call);
    const request = new PendingRequest(call, this.#deps.backend.name);
    if (TASK_METHODS.includes(call.method)) void this.#tasks.serve(request);
    else if (request.message.spans['params.requestState'] && takesInput(call.method)) this.#retry(request);
    else void this.#begin(request);
    return request;
  }

  #listen(call: BackendCall): RunningCall {
    const listener = new BridgedListener(call, this.#pool, this.#tasks, this.#deps.backend.name);
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

  async #begin(request: PendingRequest): Promise<void> {
    const refusal = this.#deps.checkedHeaders.refusal(request.call, request.message);
    if (refusal) {
      request.deliver({ render: () => refusal });
      return;
    }
    // Most calls begin at once.
    const wantsTask = this.#mayBeTask(request.call) && (await this.#takesTasks(request));
    if (!request.isOver) new BridgedCall(request, this.#pool, this.#deps, wantsTask).start();
  }

  #mayBeTask({ method, caller }: BackendCall): boolean {
    if (method !== 'tools/call' || !caller || !offersTasks(this.#deps.backend.health, 'modern')) return false;
    const { extensions } = JSON.parse(caller.capabilities) as JsonObject;
    return isJsonObject(extensions) && isJsonObject(extensions[TASKS]);
  }

  /** The backend says in its list which tools take tasks. */
  async #takesTasks({ call, message }: PendingRequest): Promise<boolean> {
    const name = String(valueAt(message.body, message.spans['params.name']));
    const { taskTools } = this.#deps;
    const isKnown = taskTools.takesTasks(name);
    if (isKnown !== undefined) return isKnown;
    const method = 'tools/list';
    try {
      const session = await this.#pool.take({ ...call, method }, false);
      return await taskTools
        .find(name, (paramsText) => session.request(method, paramsText))
        .finally(() => this.#pool.leave(session, false));
    } catch (error) {
      // The call itself reports why the backend fails.
      if (error instanceof NoAnswer) return false;
      throw error;
    }
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
      if (isOpened) void this.#begin(request);
      else request.deliver(linkNotOpened(request.call.method));
    } else {
      this.#deps.parkedCalls.retry(request, state.call, state);
    }
  }

  #stateOf(request: PendingRequest): RequestState | undefined {
    const { parkedCalls, wallClock } = this.#deps;
    const state = parkedCalls.stateOf(request);
    return state && state.expiresAt > wallClock() ? state : undefined;
  }
}
