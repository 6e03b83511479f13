import type { Identity } from '#runtime/incoming/identity';
import { ask, NoAnswer } from '#runtime/mcp/backends/ask';
import { callFailure, type CallFailure } from '#runtime/mcp/backends/failures';
import { revisionOf } from '#runtime/mcp/backends/probe';
import { readCapabilities } from '#runtime/mcp/sessions/capabilities';
import type { BackendSession } from '#runtime/mcp/sessions/session';
import type { BridgeDeps } from './bridge-deps.ts';
import type { ClientProfile } from './client-profile.ts';

const PODS_TRIED = 3;

/** Returns why a session did not open. */
export function openingFailure(error: unknown, backend: string): CallFailure {
  return error instanceof NoAnswer ? error.failure : callFailure(backend, 'protocol', false, error);
}

/** Sends `initialize`, to another pod if one refuses the connection. @throws NoAnswer */
export async function openSession(
  identity: Identity,
  { paramsText }: ClientProfile,
  { backend, deadline }: BridgeDeps,
): Promise<BackendSession> {
  for (let tries = 1; ; tries += 1) {
    const address = await backend.pickAddress?.();
    const question = { identity, era: 'legacy', method: 'initialize', paramsText, deadline } as const;
    try {
      const { result, status, sessionId } = await ask(backend, { ...question, headers: [], address });
      if (!result) throw new NoAnswer({ ...callFailure(backend.name, 'protocol', false), status });
      const { health } = backend;
      health.capabilities = readCapabilities(result, 'legacy', health.capabilities);
      const { capabilities } = health;
      const revision = revisionOf(result);
      return { backend: backend.name, at: backend, sessionId, revision, capabilities, initialized: false, address };
    } catch (error) {
      const isGone = error instanceof NoAnswer && error.failure.reason === 'session_lost' && address !== undefined;
      if (!isGone || tries === PODS_TRIED) throw error;
    }
  }
}
