import type { Identity } from '#runtime/incoming/identity';
import type { Answer } from '#runtime/mcp/backends/ask';
import type { Backend } from '#runtime/mcp/backends/backend';
import type { Era } from '../era.ts';
import type { ListKind } from './list-kinds.ts';

/** On whose behalf lists are fetched: a client session, one request of the stateless revision, or the gateway itself. */
export interface Asker {
  readonly era: Era;
  readonly identity: Identity;
  /** JSON text of the client's declared capabilities. */
  readonly capabilities: string;
  /** Whether a list that is known may be read again there; absent: everywhere. */
  mayRefresh?(backend: Backend): boolean;
  /** Sends one list request. @throws NoAnswer */
  ask(backend: Backend, kind: ListKind, cursor: string | undefined): Promise<Answer>;
}
