import type { Identity } from '#runtime/incoming/identity';
import type { BackendSet } from '#runtime/mcp/backends/backend-set';
import { endSession } from '#runtime/mcp/backends/probe';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { endQuestionsAt } from './client-questions.ts';
import type { Eviction } from './evict-session.ts';
import type { BackendSession, Session } from './session.ts';

export interface SessionEnds {
  /** The session is over: closes its backend sessions and its stream. */
  readonly ended: (session: Session) => void;
  /** Other replicas may still know the session: closes its stream here. */
  readonly forgotten: (session: Session) => void;
  /** The session was evicted for another one. Called before `ended`. */
  readonly evicted: (eviction: Eviction) => void;
}

/** Ends a session's backend sessions, so that the backends need not keep them until they time out. */
export function endBackendSessions(session: Session, identity: Identity, backends: BackendSet): void {
  for (const backendSession of session.backendSessions) {
    const backend = backends.get(backendSession.backend);
    if (backend?.sessions) endSession(backend, identity, backendSession);
  }
  session.backendSessions = [];
}

/**
 * Ends the backend sessions of a session that this replica need not know. For the anonymous identity, it skips backends with a
 * credential per user.
 */
export function endBackendSessionsOf(backendSessions: readonly BackendSession[], identity: Identity): void {
  for (const backendSession of backendSessions) {
    if (!backendSession.at.credential.perUser || identity !== ANONYMOUS)
      endSession(backendSession.at, identity, backendSession);
  }
}

/** Drops backend sessions at backends that were removed or replaced. They open again when needed; their state is lost. */
export function dropBackendSessionsAt(backends: readonly string[], sessions: Iterable<Session>): void {
  if (backends.length === 0) return;
  for (const session of sessions) {
    session.backendSessions = session.backendSessions.filter(
      (backendSession) => !backends.includes(backendSession.backend),
    );
    session.stream?.leave(backends);
    for (const backend of backends) {
      endQuestionsAt(session, backend);
      if (session.stateAt?.delete(backend)) (session.lostAt ??= new Set()).add(backend);
    }
  }
}

/** Closes what a session holds when it ends or when this replica forgets it. */
export const SESSION_ENDS: Omit<SessionEnds, 'evicted'> = {
  ended: ({ stream, backendSessions }) => {
    stream?.close();
    endBackendSessionsOf(backendSessions, ANONYMOUS);
  },
  forgotten: ({ stream, backendSessions }) => {
    stream?.close();
    // No other process can use these backend sessions.
    endBackendSessionsOf(
      backendSessions.filter(({ at }) => at.config.transport !== 'streamable-http'),
      ANONYMOUS,
    );
  },
};
