import { z } from 'zod';
import { SealBroken, UnknownSecret, type SecretRing } from '#runtime/keys/secret-ring';

/** A task of a backend. */
export interface BackendTask {
  readonly backend: string;
  /** The backend's own id. */
  readonly id: string;
  /** Advertised name of the tool that created it. Policies decide by it. */
  readonly tool: string;
  /**
   * The backend session in which it lives; empty if the backend has none. Undefined: a task of 2026-07-28, which belongs
   * to no session.
   */
  readonly session?: string | undefined;
}

const Sealed = z.tuple([z.string(), z.string(), z.string()]).rest(z.string());

/** Characters. A header carries the sealed id, and Node limits all headers to 16 KiB. */
export const MAX_ID = 2_048;

/** Seals the tasks of backends into ids for clients. An id is valid for its principal only. */
export class TaskIds {
  readonly #ring: () => Pick<SecretRing, 'seal' | 'open'>;
  readonly #server: () => string;

  /** `server`: the server whose ids these are. */
  constructor(ring: () => Pick<SecretRing, 'seal' | 'open'>, server: () => string) {
    this.#ring = ring;
    this.#server = server;
  }

  /** Returns an id of visible ASCII characters. */
  seal({ backend, id, tool, session }: BackendTask, principal: string): string {
    return this.#ring().seal(
      JSON.stringify(session === undefined ? [backend, id, tool] : [backend, id, tool, session]),
      this.#aad(principal),
    );
  }

  /** Returns undefined if the id was not sealed for this principal, or with a secret that no longer exists. */
  open(text: string, principal: string): BackendTask | undefined {
    // Characters that a decoder skips would give one task several ids.
    const isCanonical = text.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
    if (!isCanonical) return undefined;
    try {
      const { plain } = this.#ring().open(text, this.#aad(principal));
      const [backend, id, tool, session] = Sealed.parse(JSON.parse(plain));
      return { backend, id, tool, session };
    } catch (error) {
      if (error instanceof SealBroken || error instanceof UnknownSecret) return undefined;
      throw error;
    }
  }

  #aad(principal: string): string {
    return `task|${this.#server()}|${principal}`;
  }
}
