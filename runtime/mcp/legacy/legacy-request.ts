import type { Identity } from '#runtime/incoming/identity';
import type { Services } from '#runtime/services';
import type { Asker } from '../aggregate/asker.ts';
import type { Catalogue } from '../aggregate/catalogue.ts';
import { LIST_SPECS, type ListKind } from '../aggregate/list-kinds.ts';
import { ask, NoAnswer, type Answer } from '../backends/ask.ts';
import type { Backend } from '../backends/backend.ts';
import type { ClientRequest } from '../client-request.ts';
import {
  dropBackendSession,
  ensureBackendSession,
  backendSessionHeaders,
  opensAtUse,
} from '../sessions/open-backend-session.ts';
import { backendSessionOf, type BackendSession, type Session } from '../sessions/session.ts';

export interface LegacyRequest extends ClientRequest {
  readonly session: Session;
}

/** Lists in the client's own backend sessions: a stateful backend may list other items to other sessions. */
class SessionAsker implements Asker {
  readonly era = 'legacy';
  readonly identity: Identity;
  readonly #session: Session;
  readonly #services: Services;

  constructor(session: Session, identity: Identity, services: Services) {
    this.#session = session;
    this.identity = identity;
    this.#services = services;
  }

  get capabilities(): string {
    return this.#session.profile.capabilities;
  }

  /** A refresh alone starts no process for the session. */
  mayRefresh(backend: Backend): boolean {
    return !opensAtUse(backend) || backendSessionOf(this.#session, backend.name) !== undefined;
  }

  async ask(backend: Backend, kind: ListKind, cursor: string | undefined): Promise<Answer> {
    const backendSession = await ensureBackendSession(this.#session, backend, this.identity, this.#services);
    try {
      return await this.#askOn(backendSession, backend, kind, cursor);
    } catch (error) {
      // Only a list from its first page can be read in another session.
      if (!(error instanceof NoAnswer) || error.failure.reason !== 'session_lost' || cursor !== undefined) throw error;
      dropBackendSession(this.#session, backendSession);
      const again = await ensureBackendSession(this.#session, backend, this.identity, this.#services);
      return this.#askOn(again, backend, kind, cursor);
    }
  }

  #askOn(
    backendSession: BackendSession,
    backend: Backend,
    kind: ListKind,
    cursor: string | undefined,
  ): Promise<Answer> {
    return ask(backend, {
      identity: this.identity,
      era: 'legacy',
      session: this.#session,
      method: LIST_SPECS[kind].method,
      paramsText: cursor === undefined ? '{}' : JSON.stringify({ cursor }),
      headers: backendSessionHeaders(backendSession),
      address: backendSession.address,
      deadline: this.#services.config.operational.timeouts.default,
    });
  }
}

export function sessionAsker(session: Session, identity: Identity, services: Services): Asker {
  return new SessionAsker(session, identity, services);
}

/** Caches the catalogue until a reload. */
export function sessionCatalogue(session: Session, asker: Asker, services: Services): Catalogue {
  if (session.catalogue && !session.catalogue.retired) return session.catalogue;
  session.catalogue = services.catalogues.of(asker);
  return session.catalogue;
}
