import type { BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { INPUT_CAPABILITIES } from '../../input-methods.ts';
import type { ClientProfile } from './client-profile.ts';

const METHOD_NOT_FOUND = -32601;
const RESERVED_META = 'io.modelcontextprotocol/';

/** The session of a backend, as far as its requests need it. */
export interface AskingSession {
  readonly profile: ClientProfile;
  /** Sends the answer to a request. */
  tell(message: object): void;
}

interface Pending {
  readonly id: unknown;
  readonly method: string;
  readonly params: JsonObject | undefined;
}

/** Returns whether the client declared that it answers such requests. */
export function isAnswerable({ method = '' }: BackendMessage, { profile }: Pick<AskingSession, 'profile'>): boolean {
  const capability = INPUT_CAPABILITIES.get(method);
  return capability !== undefined && profile.capabilities[capability] !== undefined;
}

/** Answers a request that does not reach the client. */
export function refuseRequest(
  { method, idText = 'null' }: BackendMessage,
  session: Pick<AskingSession, 'tell'>,
  text = 'The client takes no such request',
): void {
  const id: unknown = JSON.parse(idText);
  session.tell(method === 'ping' ? { id, result: {} } : { id, error: { code: METHOD_NOT_FOUND, message: text } });
}

const NONE = new Map<string, Pending>();

/** The requests of a backend that one call waits for. */
export class InputRound {
  #pending: Map<string, Pending> = NONE;
  #last = 0;

  get size(): number {
    return this.#pending.size;
  }

  /** `data` is clean. */
  add(method: string, data: string): void {
    const { id, params } = JSON.parse(data) as { id: unknown; params?: unknown };
    // Most calls need no input.
    if (this.#pending === NONE) this.#pending = new Map();
    this.#last += 1;
    const key = `${INPUT_CAPABILITIES.get(method) ?? method}-${this.#last}`;
    this.#pending.set(key, { id, method, params: isJsonObject(params) ? withoutOlder(params) : undefined });
  }

  /** The backend gave up one of its requests. */
  withdraw(id: unknown): void {
    for (const [key, one] of this.#pending) if (one.id === id) this.#pending.delete(key);
  }

  /** Returns `inputRequests`. */
  get requests(): JsonObject {
    const requests: JsonObject = {};
    for (const [key, { method, params }] of this.#pending)
      requests[key] = params === undefined ? { method } : { method, params };
    return requests;
  }

  /** Sends the client's answers to the backend. Returns how many requests they answer. */
  answer(responses: JsonObject, session: AskingSession): number {
    let answered = 0;
    for (const [key, { id }] of this.#pending) {
      const result = responses[key];
      // A whole JSON-RPC message is no response.
      if (!isJsonObject(result) || 'method' in result || 'result' in result) continue;
      this.#pending.delete(key);
      session.tell({ id, result });
      answered += 1;
    }
    return answered;
  }

  /** Ends all requests with an error. */
  end(session: AskingSession | undefined, text: string): void {
    for (const { id } of this.#pending.values()) session?.tell({ id, error: { code: -32000, message: text } });
    this.#pending = NONE;
  }
}

/** Removes members that only older revisions have. */
function withoutOlder(params: JsonObject): JsonObject {
  const kept = Object.entries(params).filter(([key]) => key !== 'elicitationId' && key !== 'task' && key !== '_meta');
  const meta = Object.entries(isJsonObject(params._meta) ? params._meta : {}).filter(
    ([key]) => key !== 'progressToken' && !key.startsWith(RESERVED_META),
  );
  return Object.fromEntries(meta.length === 0 ? kept : [...kept, ['_meta', Object.fromEntries(meta)]]);
}
