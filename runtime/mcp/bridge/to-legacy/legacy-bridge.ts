import type { BackendCall, RunningCall } from '#runtime/mcp/backends/backend';
import type { Bridge } from '../bridged-backend.ts';
import type { BridgeDeps } from './bridge-deps.ts';
import { BridgedCall } from './bridged-call.ts';
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
    const bridged = new BridgedCall(call, this.#pool, this.#deps);
    bridged.start();
    return bridged;
  }

  retire(): void {
    this.#pool.retire();
  }

  close(): void {
    this.#pool.close();
  }
}
