import type { Identity } from '#runtime/incoming/identity';
import type { BackendSet } from '#runtime/mcp/backends/backend-set';
import { endSession } from '#runtime/mcp/backends/probe';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { endQuestionsOutsideCalls } from './client-questions.ts';
import type { Eviction } from './evict-session.ts';
import type { BackendSession, Session } from './session.ts';

export interface SessionEnds {
  readonly ended: (session: Session) => void;
  /** Other replicas may still know the session. */
  readonly forgotten: (session: Session) => void;
  /** Called before `ended`. */
  readonly evicted: (eviction: Eviction) => void;
}

/** The backends need not keep the sessions until they time out. */
export function endBackendSessions(session: Session, identity: Identity, backends: BackendSet): void {
  for (const backendSession of session.backendSessions) {
    const backend = backends.get(backendSession.backend);
    if (backend?.sessions) void endSession(backend, identity, backendSession);
  }
  session.backendSessions = [];
}

/** Skips backends with a credential per user for the anonymous identity. */
export function endBackendSessionsOf(backendSessions: readonly BackendSession[], identity: Identity): void {
  for (const backendSession of backendSessions) {
    if (!backendSession.at.credential.perUser || identity !== ANONYMOUS)
      void endSession(backendSession.at, identity, backendSession);
  }
}

export function dropBackendSessionsAt(backends: readonly string[], sessions: Iterable<Session>): void {
  if (backends.length === 0) return;
  for (const session of sessions) {
    session.backendSessions = session.backendSessions.filter(
      (backendSession) => !backends.includes(backendSession.backend),
    );
    session.stream?.leave(backends);
    for (const backend of backends) {
      endQuestionsOutsideCalls(session, backend);
      if (session.stateAt?.delete(backend)) (session.lostAt ??= new Set()).add(backend);
    }
  }
}

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
