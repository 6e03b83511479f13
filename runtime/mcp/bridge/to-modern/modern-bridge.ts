import { randomUUID } from 'node:crypto';
import { ask, NoAnswer, type Answer } from '#runtime/mcp/backends/ask';
import type { Backend, BackendCall, RunningCall } from '#runtime/mcp/backends/backend';
import { callFailure } from '#runtime/mcp/backends/failures';
import { modernHeaders } from '#runtime/mcp/backends/probe';
import { decodeRequest, isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { LATEST_LEGACY_REVISION } from '../../era.ts';
import type { Bridge } from '../bridged-backend.ts';
import { omit } from '../omit.ts';
import { CORE_TASK_METHODS } from '../../extensions.ts';
import { offersTasks } from '../../backends/health.ts';
import { OFFERED_TASKS } from '../../sessions/capabilities.ts';
import type { BridgeParts } from './bridge-parts.ts';
import { BridgedCall } from './bridged-call.ts';
import { BridgedTask } from './bridged-task.ts';
import { callerMembers } from './caller-meta.ts';
import { CachedResults } from './cached-results.ts';
import { LegacyTools } from './legacy-tools.ts';
import { ListenStream } from './listen-stream.ts';
import type { ListenStreams } from './listen-streams.ts';
import { LegacyMessage } from './modern-body.ts';
import { Questions, sessionIdOf } from './questions.ts';

/** Session ids that exist in the gateway alone. Every replica accepts them. */
const PREFIX = 'bridged-';
/** Capabilities of a modern server that legacy clients do not get. */
const NOT_BRIDGED: ReadonlySet<string> = new Set(['extensions']);
const MAX_PAGES = 100;
/** Milliseconds for a subscription without a deadline. */
const ACKNOWLEDGED_WITHIN = 60_000;
const NOTHING: RunningCall = { isHeld: false, abort: () => undefined };
/** Characters of a client's own error text. */
const MAX_REASON = 1_000;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

/**
 * A legacy server in front of a modern backend. Its sessions hold nothing: the client's declarations, log level and subscriptions come with
 * each call.
 */
export class ModernBridge implements Bridge {
  readonly #parts: BridgeParts;
  readonly #streams = new Set<ListenStream>();
  readonly #sessionStreams: ListenStreams;

  constructor(backend: Backend, sessionStreams: ListenStreams) {
    this.#sessionStreams = sessionStreams;
    this.#parts = {
      ...{ backend, tools: new LegacyTools(), questions: new Questions(), cached: new CachedResults() },
      learn: (call, tool) => this.#learnTools(call, tool),
    };
  }

  send(call: BackendCall): RunningCall {
    if (call.method !== 'initialize' && !hasBridgedSession(call)) return this.#refuse(call);
    if (call.verb === 'GET') return this.#listen(call);
    if (call.verb === 'DELETE') return later(() => call.sink.accepted());
    if (call.idText === undefined || !call.body) return this.#take(call);
    if (call.method === 'initialize') return this.#initialize(call);
    if (call.method === 'logging/setLevel') return later(() => answer(call, '"result":{}'));
    if (call.method === 'resources/subscribe' || call.method === 'resources/unsubscribe') return this.#subscribe(call);
    return this.#relay(call, call.body);
  }

  retire(): void {
    for (const stream of [...this.#streams]) stream.abort();
  }

  close(): Promise<void> {
    this.retire();
    return Promise.resolve();
  }

  /** A native session of this backend, from before it changed its revision. */
  #refuse(call: BackendCall): RunningCall {
    return later(() => call.sink.fail(callFailure(this.#parts.backend.name, 'session_lost', false)));
  }

  /** Only answers to questions have an effect: the modern era has no notifications from clients. */
  #take(call: BackendCall): RunningCall {
    const message = decodeRequest(call.body ?? Buffer.alloc(0));
    return later(() => {
      if (message.kind !== 'response') {
        call.sink.accepted();
        return;
      }
      const { result } = message.spans;
      const text = result && call.body?.toString('utf8', result.start, result.end);
      const reason = text === undefined ? errorText(call.body) : undefined;
      const isTaken = this.#parts.questions.answer(message.idText, sessionIdOf(call), text, reason);
      if (isTaken) call.sink.accepted();
      else call.sink.fail(callFailure(this.#parts.backend.name, 'session_lost', false));
    });
  }

  #initialize(call: BackendCall): RunningCall {
    const { backend } = this.#parts;
    const { identity, session, deadline, sink } = call;
    const method = 'server/discover';
    const paramsText = `{"_meta":{${callerMembers(session, false)}}}`;
    const asked = ask(backend, {
      identity,
      era: 'modern',
      method,
      paramsText,
      headers: modernHeaders(method),
      deadline,
    });
    asked.then(
      ({ result }) => {
        if (!result) sink.fail(callFailure(backend.name, 'protocol', true));
        else answer(call, `"result":${JSON.stringify(initialized(backend, result))}`, PREFIX + randomUUID());
      },
      (error: unknown) => {
        sink.fail(error instanceof NoAnswer ? error.failure : callFailure(backend.name, 'protocol', true, error));
      },
    );
    return NOTHING;
  }

  #listen(call: BackendCall): RunningCall {
    const session = sessionIdOf(call) ?? '';
    const stream = new ListenStream(this.#parts.backend, call, (ended) => {
      this.#streams.delete(ended);
      this.#sessionStreams.remove(session, ended);
    });
    this.#streams.add(stream);
    this.#sessionStreams.add(session, stream);
    return stream;
  }

  /** The session notes its subscriptions before it asks the backend. */
  #subscribe(call: BackendCall): RunningCall {
    const { backend } = this.#parts;
    const { body } = call;
    if (backend.health.capabilities?.subscribe !== true)
      return later(() => answer(call, `"error":{"code":${METHOD_NOT_FOUND},"message":"Method not found"}`));
    const uri = body && new LegacyMessage(call, body).target;
    if (uri === undefined) return later(() => answer(call, '"result":{}'));
    let isOver = false;
    const abort = () => {
      isOver = true;
      clearTimeout(timer);
    };
    const timer = setTimeout(() => {
      abort();
      call.sink.fail(callFailure(backend.name, 'timeout', true));
    }, call.deadline || ACKNOWLEDGED_WITHIN).unref();
    void this.#sessionStreams.renew(sessionIdOf(call) ?? '', uri).then((isWatched) => {
      if (isOver) return;
      abort();
      // Without a stream no event could reach the client. The next stream begins with these subscriptions.
      const isDone = call.method === 'resources/unsubscribe' || isWatched !== false;
      answer(call, isDone ? '"result":{}' : `"error":${JSON.stringify(notWatched(uri))}`);
    });
    return { isHeld: false, abort };
  }

  #relay(call: BackendCall, body: Buffer): RunningCall {
    const isOfTask = CORE_TASK_METHODS.includes(call.method);
    const running = isOfTask ? new BridgedTask(this.#parts, call, body) : new BridgedCall(this.#parts, call, body);
    running.start();
    return running;
  }

  /** The headers of a call come from the tool's schema, and this process may have no list yet. */
  async #learnTools(call: BackendCall, wanted: string): Promise<void> {
    const { tools } = this.#parts;
    let cursor: unknown;
    try {
      for (let page = 0; page < MAX_PAGES && !tools.has(wanted) && cursor !== ''; page++) {
        const { result = {} } = await this.#askTools(call, cursor);
        tools.learn(result, false);
        cursor = typeof result.nextCursor === 'string' ? result.nextCursor : '';
      }
    } catch (error) {
      // The call itself reports why the backend fails.
      if (!(error instanceof NoAnswer)) throw error;
    }
    tools.assume(wanted);
  }

  #askTools({ identity, session, deadline }: BackendCall, cursor: unknown): Promise<Answer> {
    const method = 'tools/list';
    const at = cursor === undefined ? '' : `"cursor":${JSON.stringify(cursor)},`;
    const paramsText = `{${at}"_meta":{${callerMembers(session, false)}}}`;
    const headers = modernHeaders(method);
    return ask(this.#parts.backend, { identity, era: 'modern', method, paramsText, headers, deadline });
  }
}

function notWatched(uri: string): JsonObject {
  return { code: INVALID_PARAMS, message: 'The server does not let this resource be watched', data: { uri } };
}

/** Returns the text of a client's error. */
function errorText(body: Buffer | undefined): string | undefined {
  const { error } = JSON.parse(body?.toString('utf8') ?? '{}') as JsonObject;
  return isJsonObject(error) && typeof error.message === 'string' ? error.message.slice(0, MAX_REASON) : undefined;
}

function hasBridgedSession(call: BackendCall): boolean {
  return sessionIdOf(call)?.startsWith(PREFIX) === true;
}

/** Returns the result of initialize. The bridge drops extensions other than tasks. */
function initialized({ name, health }: Backend, { capabilities, instructions }: JsonObject): JsonObject {
  const own = {
    ...omit(isJsonObject(capabilities) ? capabilities : {}, NOT_BRIDGED),
    ...(offersTasks(health, 'legacy') ? { tasks: OFFERED_TASKS } : {}),
  };
  return {
    protocolVersion: LATEST_LEGACY_REVISION,
    capabilities: own,
    serverInfo: { name, version: '' },
    ...(instructions === undefined ? {} : { instructions }),
  };
}

/** `outcome`: JSON text of the member `result` or `error`. */
function answer({ idText, sink }: BackendCall, outcome: string, sessionId?: string): void {
  const kind = outcome.startsWith('"error"') ? 'error' : 'result';
  sink.json(200, Buffer.from(`{"jsonrpc":"2.0","id":${idText ?? 'null'},${outcome}}`), kind, sessionId);
}

/** Runs after `send` returned, as with every other backend. */
function later(act: () => void): RunningCall {
  const timer = setImmediate(act);
  return { isHeld: false, abort: () => clearImmediate(timer) };
}
