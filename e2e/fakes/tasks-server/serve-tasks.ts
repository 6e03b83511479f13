import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { elicitation, TASK_TOOLS, text, type Task, type TaskTool } from './task-tools.ts';

type Values = Record<string, unknown>;
export interface Rpc {
  readonly id: string | number;
  readonly method: string;
  readonly params: Values;
}

const EXTENSION = 'io.modelcontextprotocol/tasks';
const DECLARED = 'io.modelcontextprotocol/clientCapabilities';
const NAMES: Readonly<Record<string, string>> = { 'tools/call': 'name' };
const NAMED = (method: string) => NAMES[method] ?? (/^tasks\/(get|update|cancel)$/.test(method) ? 'taskId' : undefined);

export interface TasksServerOptions {
  /** Name of a tool of the suite as this server lists it. */
  readonly nameOf?: (name: string) => string;
  /** Refuses each call: a misrouted call fails. */
  readonly refusesCalls?: boolean;
  /** Does not offer the extension. */
  readonly hasNoTasks?: boolean;
  /** Answers each call with a task, whatever the client declares. */
  readonly isCareless?: boolean;
  /** Port to listen on; default a free one. */
  readonly port?: number;
  readonly ttlMs?: number | null;
  /** Tasks of an earlier server that this one continues. */
  readonly tasks?: Map<string, Task>;
}

export interface TasksServer {
  readonly url: string;
  readonly tasks: Map<string, Task>;
  /** Requests so far, as the server received them. */
  readonly requests: readonly { readonly message: Rpc; readonly headers: IncomingMessage['headers'] }[];
  close(): Promise<void>;
}

class RpcError extends Error {
  readonly code: number;
  readonly status: number;
  readonly data: object | undefined;
  constructor(code: number, message: string, status = 200, data?: object) {
    super(message);
    [this.code, this.status, this.data] = [code, status, data];
  }
}

/** Serves tasks of 2026-07-28 on plain node:http, as the SDK has no server for them. */
export async function serveTasks(options: TasksServerOptions = {}): Promise<TasksServer> {
  const server = new Tasks(options);
  const listener = createServer((req, res) => void server.serve(req, res));
  await new Promise<void>((resolve) => listener.listen(options.port ?? 0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    tasks: server.tasks,
    requests: server.requests,
    async close() {
      listener.closeAllConnections();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

/** The server without a transport. */
export class Tasks {
  readonly tasks: Map<string, Task>;
  readonly requests: { message: Rpc; headers: IncomingMessage['headers'] }[] = [];
  readonly #options: TasksServerOptions;
  readonly #tools: ReadonlyMap<string, TaskTool>;
  readonly #args = new Map<string, Values>();
  readonly #listeners = new Map<string, (task: Task) => void>();

  constructor(options: TasksServerOptions) {
    this.#options = options;
    this.tasks = options.tasks ?? new Map<string, Task>();
    this.#tools = new Map(TASK_TOOLS.map((tool) => [this.#nameOf(tool.name), tool]));
  }

  async serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const message = req.method === 'POST' ? ((await json(req)) as Rpc) : undefined;
    if (message?.id === undefined) {
      res.writeHead(message ? 202 : 405).end();
      return;
    }
    const { id, method } = message;
    this.requests.push({ message, headers: req.headers });
    const answer = (status: number, outcome: object) =>
      res
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }));
    try {
      this.#checkHeaders(message, req.headers);
      if (method === 'subscriptions/listen') this.#listenOn(message, res);
      else answer(200, { result: this.#resultOf(message) });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const { code, data, status } = error;
      answer(status, { error: { code, message: error.message, data } });
    }
  }

  /** Answers a request of a channel. `tell` takes all messages. */
  answer(message: Rpc, tell: (text: string) => void): void {
    const { id, method } = message;
    const say = (outcome: object) => tell(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }));
    try {
      if (method === 'subscriptions/listen') this.#listen(message, tell);
      else say({ result: this.#resultOf(message) });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      say({ error: { code: error.code, message: error.message, data: error.data } });
    }
  }

  #nameOf(name: string): string {
    return this.#options.nameOf?.(name) ?? name;
  }

  #checkHeaders({ method, params }: Rpc, headers: IncomingMessage['headers']): void {
    const member = NAMED(method);
    const isNamed = member === undefined || headers['mcp-name'] === params[member];
    if (method !== 'initialize' && (headers['mcp-method'] !== method || !isNamed))
      throw new RpcError(-32020, 'the headers do not match', 400);
  }

  #resultOf({ method, params }: Rpc): object {
    if (method === 'server/discover') return this.#discover();
    if (method === 'tools/list') return this.#list();
    if (this.#options.refusesCalls) throw new RpcError(-32603, 'not for this backend');
    if (method === 'tools/call') return this.#call(params);
    if (!/^tasks\/(get|update|cancel)$/.test(method)) throw new RpcError(-32601, 'Method not found', 404);
    if (!declares(params)) throw missing();
    const task = this.tasks.get(String(params.taskId));
    if (!task) throw new RpcError(-32602, 'Unknown task');
    if (method === 'tasks/get') return { resultType: 'complete', ...detailed(task) };
    if (method === 'tasks/cancel') this.#change(task, { status: 'cancelled' });
    else this.#update(task, params.inputResponses as Values);
    return { resultType: 'complete' };
  }

  #discover(): object {
    return {
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, ...(this.#options.hasNoTasks ? {} : { extensions: { [EXTENSION]: {} } }) },
      ttlMs: 0,
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'tasks', version: '1' } },
    };
  }

  #list(): object {
    const tools = ['greet', ...TASK_TOOLS.map(({ name }) => name)].map((name) => ({
      name: this.#nameOf(name),
      inputSchema: { type: 'object' },
    }));
    return { resultType: 'complete', tools, ttlMs: 60_000, cacheScope: 'public' };
  }

  #call(params: Values): object {
    const args = (params.arguments ?? {}) as Values;
    if (params.name === this.#nameOf('greet'))
      return { resultType: 'complete', ...text(`Hello, ${String(args.name)}!`) };
    const tool = this.#tools.get(String(params.name));
    if (!tool) throw new RpcError(-32602, 'Unknown tool');
    const isDeclared = this.#options.isCareless === true || declares(params);
    if (!isDeclared && tool.isRequired) throw missing();
    if (!isDeclared) return { resultType: 'complete', ...tool.end({ inputs: {} }, args).result };
    if (tool.name !== 'test_tool_with_task') return this.#begin(tool, args);
    const { inputResponses } = params as { inputResponses?: { user_name?: unknown } };
    if (inputResponses?.user_name !== undefined) return this.#begin(tool, { user: inputResponses.user_name });
    return { resultType: 'input_required', inputRequests: { user_name: elicitation('Your name?') } };
  }

  #begin(tool: TaskTool, args: Values): object {
    const task: Task = {
      taskId: randomUUID(),
      tool: tool.name,
      createdAt: Date.now(),
      ttlMs: this.#options.ttlMs === undefined ? 60_000 : this.#options.ttlMs,
      status: tool.asks ? 'input_required' : 'working',
      inputs: {},
    };
    if (tool.asks) task.inputRequests = Object.fromEntries(tool.asks.map((key) => [key, elicitation(key)]));
    else setTimeout(() => this.#change(task, tool.end(task, args)), tool.work(args)).unref();
    this.tasks.set(task.taskId, task);
    this.#args.set(task.taskId, args);
    return { resultType: 'task', ...flat(task) };
  }

  #update(task: Task, responses: Values): void {
    const asked = task.inputRequests ?? {};
    for (const [key, response] of Object.entries(responses)) {
      if (asked[key] === undefined) continue;
      task.inputs[key] = response;
      Reflect.deleteProperty(asked, key);
    }
    const tool = TASK_TOOLS.find(({ name }) => name === task.tool);
    if (tool?.asks && Object.keys(asked).length === 0)
      this.#change(task, tool.end(task, this.#args.get(task.taskId) ?? {}));
  }

  #change(task: Task, change: Partial<Task>): void {
    if (task.status !== 'working' && task.status !== 'input_required') return;
    Object.assign(task, change);
    this.#listeners.get(task.taskId)?.(task);
  }

  #listenOn(message: Rpc, res: ServerResponse): void {
    this.#listen(message, (text) => {
      if (!res.headersSent) res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(`data: ${text}\n\n`);
    });
  }

  #listen({ id, params }: Rpc, tell: (text: string) => void): void {
    const { taskIds = [] } = params.notifications as { taskIds?: string[] };
    if (taskIds.length > 0 && !declares(params)) throw missing();
    const known = taskIds.filter((one) => this.tasks.has(one));
    const say = (method: string, rest: object) => {
      const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
      tell(JSON.stringify({ jsonrpc: '2.0', method, params: { ...rest, _meta } }));
    };
    say('notifications/subscriptions/acknowledged', { notifications: { taskIds: known } });
    for (const one of known) this.#listeners.set(one, (task) => say('notifications/tasks', detailed(task)));
  }
}

function declares({ _meta: meta }: Values): boolean {
  const { extensions } = ((meta as Values)[DECLARED] ?? {}) as { extensions?: Values };
  return extensions?.[EXTENSION] !== undefined;
}

function missing(): RpcError {
  const data = { requiredCapabilities: { extensions: { [EXTENSION]: {} } } };
  return new RpcError(-32021, 'The client lacks a capability', 400, data);
}

function flat({ taskId, status, createdAt, ttlMs }: Task): object {
  const at = new Date(createdAt).toISOString();
  return { taskId, status, createdAt: at, lastUpdatedAt: at, ttlMs, pollIntervalMs: 50 };
}

function detailed(task: Task): object {
  const { status, result, error, inputRequests } = task;
  return { ...flat(task), result, error, ...(status === 'input_required' ? { inputRequests } : {}) };
}
