import type { Identity } from '#runtime/incoming/identity';
import type { Answer } from '#runtime/mcp/backends/ask';
import type { Backend } from '#runtime/mcp/backends/backend';
import type { Era } from '../era.ts';
import type { ListKind } from './list-kinds.ts';

/**
 * Identifies the caller for which lists are fetched: a client session, a request of revision 2026-07-28, or the
 * gateway.
 */
export interface Asker {
  readonly era: Era;
  readonly identity: Identity;
  /** JSON text of the client's declared capabilities. */
  readonly capabilities: string;
  /** Returns whether a cached list of this backend may be fetched again. Absent: every backend allows it. */
  mayRefresh?(backend: Backend): boolean;
  /** Sends one list request. @throws NoAnswer */
  ask(backend: Backend, kind: ListKind, cursor: string | undefined): Promise<Answer>;
}
