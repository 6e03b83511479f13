import { randomUUID } from 'node:crypto';
import type { CallerSession } from '#runtime/mcp/backends/backend';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { INPUT_CAPABILITIES } from '../../input-methods.ts';
import { hasCapability } from './caller-meta.ts';
import type { Questions } from './questions.ts';

/** Milliseconds that the client has for its answers of one round. */
const ROUND_TIME = 600_000;
/** Characters of the state that the backend gets back. */
const MAX_STATE = 65_536;
const MAX_REQUESTS = 100;

/** The `input_required` result of a backend. */
export interface InputRequired {
  readonly requests: readonly { readonly key: string; readonly method: string; readonly params: unknown }[];
  /** JSON text. */
  readonly state: string | undefined;
}

/** Undefined: the result asks for nothing, or for too much. */
export function readInputRequired(result: JsonObject): InputRequired | undefined {
  const { inputRequests = {}, requestState } = result;
  if (!isJsonObject(inputRequests)) return undefined;
  const entries = Object.entries(inputRequests);
  const requests = entries.flatMap(([key, request]) =>
    isJsonObject(request) && typeof request.method === 'string'
      ? [{ key, method: request.method, params: request.params }]
      : [],
  );
  const isWhole = requests.length === entries.length && requests.length <= MAX_REQUESTS;
  if (!isWhole || (requestState !== undefined && typeof requestState !== 'string')) return undefined;
  if (requestState === undefined ? requests.length === 0 : requestState.length > MAX_STATE) return undefined;
  return { requests, state: requestState === undefined ? undefined : JSON.stringify(requestState) };
}

/** Returns the member of params that gives the state back, with a comma. */
export const stateMember = ({ state }: InputRequired): string =>
  state === undefined ? '' : `"requestState":${state},`;

/** Returns the first method whose capability the client did not declare. */
export function missingCapability({ requests }: InputRequired, session: CallerSession | undefined): string | undefined {
  const isMissing = ({ method }: { method: string }) => {
    const capability = INPUT_CAPABILITIES.get(method);
    return capability === undefined || !hasCapability(session, capability);
  };
  return requests.find(isMissing)?.method;
}

/** The questions of one round, with the client's answers so far. */
export class Round {
  readonly #questions: Questions;
  /** Key to the JSON text of the id, of each question without an answer. */
  readonly #open = new Map<string, string>();
  readonly #answers = new Map<string, string>();
  readonly #timer: NodeJS.Timeout;
  readonly #done: (answers: string | undefined, reason: string) => void;

  /**
   * Asks all at once. `ask` receives the JSON-RPC request. `done`: called once, with the JSON text of the answers by key; undefined if the
   * client refused or did not answer in time, with the reason.
   */
  constructor(
    { requests }: InputRequired,
    { questions, session }: { readonly questions: Questions; readonly session: string | undefined },
    ask: (request: string) => void,
    done: (answers: string | undefined, reason: string) => void,
  ) {
    this.#questions = questions;
    this.#done = done;
    this.#timer = setTimeout(() => this.#end(undefined, 'no answer in time'), ROUND_TIME).unref();
    for (const { key, method, params } of requests) {
      const id = questions.add(session, (result, reason) => this.#take(key, result, reason));
      this.#open.set(key, id);
      const own = params === undefined ? '' : `,"params":${JSON.stringify(legacyParams(method, params))}`;
      ask(`{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${own}}`);
    }
  }

  /** Withdraws the questions without an answer. `tell` receives the JSON-RPC notifications. */
  withdraw(tell: (notification: string) => void): void {
    for (const id of this.#open.values())
      tell(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`);
    this.close();
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const id of this.#open.values()) this.#questions.drop(id);
  }

  #take(key: string, result: string | undefined, reason = 'it gave no reason'): void {
    this.#open.delete(key);
    if (result === undefined) {
      this.#end(undefined, reason);
      return;
    }
    this.#answers.set(key, result);
    if (this.#open.size > 0) return;
    this.#end(`{${[...this.#answers].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`);
  }

  #end(answers: string | undefined, reason = ''): void {
    this.close();
    this.#done(answers, reason);
  }
}

/** Revision 2025-11-25 requires an id of each question that opens a URL. */
function legacyParams(method: string, params: unknown): unknown {
  const isUrl = method === 'elicitation/create' && isJsonObject(params) && params.mode === 'url';
  return isUrl ? { elicitationId: randomUUID(), ...params } : params;
}
