import type { Identity } from '#runtime/incoming/identity';
import type { Rooms } from '#runtime/rooms';
import type { Asker } from '../aggregate/asker.ts';
import type { Catalogue } from '../aggregate/catalogue.ts';
import { LIST_SPECS, type ListKind } from '../aggregate/list-kinds.ts';
import { ask, NoAnswer, type Answer } from '../backends/ask.ts';
import type { Backend } from '../backends/backend.ts';
import type { ClientRequest } from '../client-request.ts';
import { dropLeg, ensureLeg, legHeaders, opensAtUse } from '../sessions/open-leg.ts';
import { legOf, type Leg, type Session } from '../sessions/session.ts';

/** One request of a client session. */
export interface SessionRequest extends ClientRequest {
  readonly session: Session;
}

/** Lists are fetched on the client's own legs, as a stateful backend may list other things to other sessions. */
class SessionAsker implements Asker {
  readonly era = 'session';
  readonly identity: Identity;
  readonly #session: Session;
  readonly #rooms: Rooms;

  constructor(session: Session, identity: Identity, rooms: Rooms) {
    this.#session = session;
    this.identity = identity;
    this.#rooms = rooms;
  }

  get capabilities(): string {
    return this.#session.profile.capabilities;
  }

  /** A process is not started for this session only to read a list again. */
  mayRefresh(backend: Backend): boolean {
    return !opensAtUse(backend) || legOf(this.#session, backend.name) !== undefined;
  }

  async ask(backend: Backend, kind: ListKind, cursor: string | undefined): Promise<Answer> {
    const leg = await ensureLeg(this.#session, backend, this.identity, this.#rooms);
    try {
      return await this.#askOn(leg, backend, kind, cursor);
    } catch (error) {
      // Pages of a list belong together: only from the first one on can it be read in another session.
      if (!(error instanceof NoAnswer) || error.failure.reason !== 'session_lost' || cursor !== undefined) throw error;
      dropLeg(this.#session, leg);
      const again = await ensureLeg(this.#session, backend, this.identity, this.#rooms);
      return this.#askOn(again, backend, kind, cursor);
    }
  }

  #askOn(leg: Leg, backend: Backend, kind: ListKind, cursor: string | undefined): Promise<Answer> {
    return ask(backend, {
      identity: this.identity,
      era: 'session',
      method: LIST_SPECS[kind].method,
      paramsText: cursor === undefined ? '{}' : JSON.stringify({ cursor }),
      headers: legHeaders(leg),
      address: leg.address,
      deadline: this.#rooms.config.operational.timeouts.default,
    });
  }
}

export function sessionAsker(session: Session, identity: Identity, rooms: Rooms): Asker {
  return new SessionAsker(session, identity, rooms);
}

/** What this session sees. Looked up once; a reload retires it. */
export function sessionCatalogue(session: Session, asker: Asker, rooms: Rooms): Catalogue {
  if (session.catalogue && !session.catalogue.retired) return session.catalogue;
  session.catalogue = rooms.catalogues.of(asker);
  return session.catalogue;
}
