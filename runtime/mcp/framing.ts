import type { Asker } from './aggregate/asker.ts';
import type { Catalogue, KindCatalogue } from './aggregate/catalogue.ts';
import type { ClientRequest } from './client-request.ts';
import type { DecodedRequest } from './envelope/decode-request.ts';
import type { Edit } from './envelope/splice.ts';
import type { Era } from './era.ts';
import type { PreparedCall } from './route/prepare-call.ts';
import type { Target } from './route/resolve-target.ts';

export type Handler<R extends ClientRequest> = (request: R) => void | Promise<void>;

/** The parts of serving a request that differ between MCP revisions. */
export interface Framing<R extends ClientRequest> {
  readonly era: Era;
  /** Methods that only these revisions have. */
  readonly handlers: ReadonlyMap<string, Handler<R>>;
  /** Returns the caller for which lists are fetched. */
  asker(request: R): Asker;
  /** Returns the lists that this client sees. */
  catalogue(request: R, asker: Asker): Catalogue;
  /** Returns the members of a list result. `entries`: the member that holds the entries. */
  renderList(request: R, list: KindCatalogue, entries: string): string;
  /** Returns the edits of a body besides its name, such as removed responses that are for the gateway only. */
  edits(message: DecodedRequest): readonly Edit[];
  /** Runs work that must keep the client's session alive. */
  keepAlive<T>(request: R, work: () => Promise<T>): Promise<T>;
  /**
   * Answers a call of an entry of a backend without a login. False: nothing was answered, and the caller must resolve
   * again.
   */
  answerConnect(request: R, target: Target): Promise<boolean>;
  /** Sends the call to its backend and the answer to the client. Settles when the answer is sent. */
  relay(request: R, call: PreparedCall): Promise<void>;
}
