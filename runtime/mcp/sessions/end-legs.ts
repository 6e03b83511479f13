import type { Identity } from '#runtime/incoming/identity';
import type { BackendSet } from '#runtime/mcp/backends/backend-set';
import { endSession } from '#runtime/mcp/backends/probe';
import type { Session } from './session.ts';

/** Ends a session's own sessions at its backends, so that they need not keep them until they time out. */
export function endLegs(session: Session, identity: Identity, backends: BackendSet): void {
  for (const leg of session.legs) {
    const backend = backends.get(leg.backend);
    if (backend?.sessions && leg.sessionId !== undefined) endSession(backend, identity, leg.sessionId, leg.revision);
  }
  session.legs = [];
}
