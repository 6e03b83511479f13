import type { Identity } from '#runtime/incoming/identity';
import type { BackendSet } from '#runtime/mcp/backends/backend-set';
import { endSession } from '#runtime/mcp/backends/probe';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { endQuestionsAt } from './client-questions.ts';
import type { Eviction } from './evict-session.ts';
import type { Leg, Session } from './session.ts';

export interface SessionEnds {
  /** It is over: its legs and its stream are closed. */
  readonly ended: (session: Session) => void;
  /** Others may know it still: its stream here is closed. */
  readonly forgotten: (session: Session) => void;
  /** It was ended for another one: told before `ended`. */
  readonly evicted: (eviction: Eviction) => void;
}

/** Ends a session's own sessions at its backends, so that they need not keep them until they time out. */
export function endLegs(session: Session, identity: Identity, backends: BackendSet): void {
  for (const leg of session.legs) {
    const backend = backends.get(leg.backend);
    if (backend?.sessions) endSession(backend, identity, leg);
  }
  session.legs = [];
}

/** The same for legs of a session that this replica need not know; without its caller only those that ask for no credential of one. */
export function endLegsOf(legs: readonly Leg[], identity: Identity): void {
  for (const leg of legs) {
    if (!leg.at.credential.perUser || identity !== ANONYMOUS) endSession(leg.at, identity, leg);
  }
}

/** Forgets legs at backends that are gone or were made anew; they open again when they are needed, and what they held is lost. */
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

/** What follows when a session is over, and when only this replica knows it no longer. */
export const SESSION_ENDS: Omit<SessionEnds, 'evicted'> = {
  ended: ({ stream, legs }) => {
    stream?.close();
    endLegsOf(legs, ANONYMOUS);
  },
  forgotten: ({ stream, legs }) => {
    stream?.close();
    // No other process has these.
    endLegsOf(
      legs.filter(({ at }) => at.config.transport !== 'streamable-http'),
      ANONYMOUS,
    );
  },
};
