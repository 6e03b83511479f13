import type { Identity } from '#runtime/incoming/identity';
import type { BackendSet } from '#runtime/mcp/backends/backend-set';
import { endSession } from '#runtime/mcp/backends/probe';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { endQuestionsAt } from './client-questions.ts';
import type { Eviction } from './evict-session.ts';
import type { Leg, Session } from './session.ts';

export interface SessionEnds {
  /** The session is over: closes its backend sessions and its stream. */
  readonly ended: (session: Session) => void;
  /** Other replicas may still know the session: closes its stream here. */
  readonly forgotten: (session: Session) => void;
  /** The session was evicted for another one. Called before `ended`. */
  readonly evicted: (eviction: Eviction) => void;
}

/** Ends a session's backend sessions, so that the backends need not keep them until they time out. */
export function endLegs(session: Session, identity: Identity, backends: BackendSet): void {
  for (const leg of session.legs) {
    const backend = backends.get(leg.backend);
    if (backend?.sessions) endSession(backend, identity, leg);
  }
  session.legs = [];
}

/**
 * Ends the backend sessions of a session that this replica need not know. For the anonymous identity, it skips backends with a
 * credential per user.
 */
export function endLegsOf(legs: readonly Leg[], identity: Identity): void {
  for (const leg of legs) {
    if (!leg.at.credential.perUser || identity !== ANONYMOUS) endSession(leg.at, identity, leg);
  }
}

/** Drops backend sessions at backends that were removed or replaced. They open again when needed; their state is lost. */
export function dropLegsAt(backends: readonly string[], sessions: Iterable<Session>): void {
  if (backends.length === 0) return;
  for (const session of sessions) {
    session.legs = session.legs.filter((leg) => !backends.includes(leg.backend));
    session.stream?.leave(backends);
    for (const backend of backends) {
      endQuestionsAt(session, backend);
      if (session.stateAt?.delete(backend)) (session.lostAt ??= new Set()).add(backend);
    }
  }
}

/** Closes what a session holds when it ends or when this replica forgets it. */
export const SESSION_ENDS: Omit<SessionEnds, 'evicted'> = {
  ended: ({ stream, legs }) => {
    stream?.close();
    endLegsOf(legs, ANONYMOUS);
  },
  forgotten: ({ stream, legs }) => {
    stream?.close();
    // No other process can use these backend sessions.
    endLegsOf(
      legs.filter(({ at }) => at.config.transport !== 'streamable-http'),
      ANONYMOUS,
    );
  },
};
