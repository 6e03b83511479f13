import type { BackendCall, RunningCall } from '#runtime/mcp/backends/backend';
import { decodeBackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import type { BridgedSession, SessionListener } from './bridged-session.ts';
import { TASK_CHANGED } from '../../extensions.ts';
import type { BridgedTasks } from './bridged-tasks.ts';
import { openingFailure } from './open-session.ts';
import { objectAt, readModernMessage } from './modern-message.ts';
import type { SessionPool } from './session-pool.ts';
import { isListened } from './session-subscriptions.ts';
import { TaskWatch } from './task-watch.ts';

const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
const CHANGES = {
  toolsListChanged: 'notifications/tools/list_changed',
  promptsListChanged: 'notifications/prompts/list_changed',
  resourcesListChanged: 'notifications/resources/list_changed',
};
const NO_FLOW = { pause: () => undefined, resume: () => undefined };

/** Serves `subscriptions/listen` by a session of older revisions: its own stream, and `resources/subscribe`. */
export class BridgedListener implements RunningCall, SessionListener {
  readonly isHeld = false;
  readonly #call: BackendCall;
  readonly #backend: string;
  readonly #pool: SessionPool;
  readonly #tasks: TaskWatch;
  readonly #wanted: JsonObject;
  readonly #uris: Set<string>;
  #session: BridgedSession | undefined;
  #joined: readonly string[] = [];
  #isOver = false;

  constructor(call: BackendCall, pool: SessionPool, tasks: BridgedTasks, backend: string) {
    this.#call = call;
    this.#pool = pool;
    this.#backend = backend;
    this.#tasks = new TaskWatch({
      look: (taskId) => tasks.look(taskId, call),
      changed: (task) => this.#emit(JSON.stringify({ jsonrpc: '2.0', method: TASK_CHANGED, params: task })),
    });
    const { body, spans } = readModernMessage(call.body ?? Buffer.alloc(0));
    const { notifications } = objectAt(body, spans.params);
    this.#wanted = isJsonObject(notifications) ? notifications : {};
    const { resourceSubscriptions: uris } = this.#wanted;
    this.#uris = new Set(Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : []);
  }

  async start(): Promise<void> {
    try {
      const session = await this.#pool.take(this.#call, true);
      if (this.#isOver) this.#pool.leave(session, false);
      else await this.#listen(session);
    } catch (error) {
      if (this.#isOver) return;
      this.#isOver = true;
      this.#call.sink.fail(openingFailure(error, this.#backend));
    }
  }

  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#tasks.close();
    this.#release();
  }

  updated(uri: string, data: string): void {
    if (isListened(uri, this.#uris)) this.#emit(data);
  }

  missed(): void {
    const emit = (method: string, params?: object) => this.#emit(JSON.stringify({ jsonrpc: '2.0', method, params }));
    for (const [flag, method] of Object.entries(CHANGES)) if (this.#wanted[flag] === true) emit(method);
    for (const uri of this.#joined) emit('notifications/resources/updated', { uri });
  }

  /** The session is over. The caller opens another one. */
  ended(): void {
    if (this.#isOver) return;
    this.abort();
    this.#call.sink.close(false);
  }

  async #listen(session: BridgedSession): Promise<void> {
    this.#session = session;
    session.listeners.add(this);
    const { sink, idText = 'null' } = this.#call;
    sink.open(NO_FLOW, undefined);
    // The stream of a session may have ended since: a resource must not change unheard.
    await session.hear();
    const uris = session.target.capabilities.subscribe ? [...this.#uris] : [];
    const { taskIds } = this.#wanted;
    const watched = await this.#tasks.begin(taskIds);
    const taken = await Promise.all(uris.map((uri) => session.subscriptions.join(uri)));
    if (this.#isOver) {
      for (const uri of uris) session.subscriptions.leave(uri);
      return;
    }
    this.#joined = uris;
    const notifications = {
      ...this.#wanted,
      resourceSubscriptions: uris.filter((_uri, index) => taken[index]),
      ...(taskIds === undefined ? {} : { taskIds: watched }),
    };
    const params = { notifications, _meta: { [SUBSCRIPTION_ID]: JSON.parse(idText) as unknown } };
    this.#emit(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params }));
  }

  #release(): void {
    const session = this.#session;
    if (!session) return;
    this.#session = undefined;
    session.listeners.delete(this);
    if (!session.isOver) for (const uri of this.#joined) session.subscriptions.leave(uri);
    this.#pool.leave(session, false);
  }

  #emit(data: string): void {
    if (this.#isOver) return;
    this.#call.sink.event({ id: undefined, retry: undefined, data, message: decodeBackendMessage(data) });
  }
}
