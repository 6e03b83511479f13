import type { Identity } from '#runtime/incoming/identity';
import { ask } from '#runtime/mcp/backends/ask';
import { backendSessionHeaders } from '#runtime/mcp/sessions/open-backend-session';
import type { BackendSession } from '#runtime/mcp/sessions/session';
import type { BridgeDeps } from './bridge-deps.ts';

/** RFC 5424, most verbose first. */
const LEVELS: readonly unknown[] = 'debug info notice warning error critical alert emergency'.split(' ');

/** `wanted`: the level of a call. Undefined: it wants no messages. */
export function isLogged(level: unknown, wanted: string | undefined): boolean {
  const least = LEVELS.indexOf(wanted);
  return least >= 0 && LEVELS.indexOf(level) >= least;
}

/** The most verbose level that any call of a session asked for. */
export class LogLevel {
  #level = LEVELS.length;

  /** Returns undefined if the backend sends such messages already, or none at all. Never rejects. */
  lower(
    level: string,
    target: BackendSession,
    identity: Identity,
    { backend, deadline }: BridgeDeps,
  ): Promise<void> | undefined {
    const wanted = LEVELS.indexOf(level);
    if (wanted < 0 || wanted >= this.#level || !target.capabilities.logging) return undefined;
    this.#level = wanted;
    return ask(backend, {
      identity,
      era: 'legacy',
      method: 'logging/setLevel',
      paramsText: JSON.stringify({ level }),
      headers: backendSessionHeaders(target),
      address: target.address,
      deadline,
    }).then(
      () => undefined,
      () => undefined,
    );
  }
}
