import type { IncomingHttpHeaders } from 'node:http';

/** A tool as `tools/list` shows it. */
export interface FakeTool {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
}

/** The offer of a fake MCP server. Results are JSON text of an object, so that a fixed one is serialised only once. */
export interface FakeServer {
  name: string;
  tools(): FakeTool[];
  /** Returns the result of one call as JSON text, or undefined for an unknown tool. */
  call(
    name: string,
    args: Record<string, unknown>,
    headers: IncomingHttpHeaders,
  ): string | undefined | Promise<string | undefined>;
  /** Answers calls of tools with a stream of one event instead of a JSON document. */
  streams?: boolean | undefined;
  /** Scope of a cached list; default `public`. */
  cacheScope?: 'public' | 'private';
}

/** The fields of a JSON-RPC message that a fake reads. */
export interface Message {
  id?: string | number;
  method?: string;
  params?: {
    name?: string;
    arguments?: Record<string, unknown>;
    cursor?: string;
    protocolVersion?: string;
    notifications?: Record<string, unknown>;
    _meta?: Record<string, unknown>;
  };
}

/** HTTP status and JSON body of an answer. */
export interface Answer {
  status: number;
  body: string;
}

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const MODERN = '2026-07-28';
const OLDER = ['2025-11-25', '2025-06-18', '2025-03-26'];
const PAGE = 1000;
const CAPABILITIES = '{"tools":{"listChanged":true}}';

/** Returns whether the request uses a revision without sessions. */
export function isModern(message: Message): boolean {
  return message.params?._meta?.[VERSION_KEY] !== undefined;
}

/** Returns a JSON-RPC error as an answer. */
export function refuse(id: Message['id'], code: number, text: string, status: number, data?: unknown): Answer {
  const error = { code, message: text, ...(data === undefined ? {} : { data }) };
  return { status, body: JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error }) };
}

function succeed(message: Message, result: string): Answer {
  const fields = isModern(message)
    ? `{"resultType":"complete"${result === '{}' ? '}' : `,${result.slice(1)}`}`
    : result;
  return { status: 200, body: `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${fields}}` };
}

type Step = (server: FakeServer, message: Message, headers: IncomingHttpHeaders) => Answer | Promise<Answer>;

const hints = (server: FakeServer, message: Message) =>
  isModern(message) ? `,"ttlMs":60000,"cacheScope":"${server.cacheScope ?? 'public'}"` : '';

const emptyList =
  (key: string): Step =>
  (server, message) =>
    succeed(message, `{"${key}":[]${hints(server, message)}}`);

const SHARED: Record<string, Step> = {
  'tools/list': (server, message) => {
    const tools = server.tools();
    const start = Number(message.params?.cursor ?? 0);
    const next = start + PAGE < tools.length ? `,"nextCursor":"${start + PAGE}"` : '';
    const page = JSON.stringify(tools.slice(start, start + PAGE));
    return succeed(message, `{"tools":${page}${next}${hints(server, message)}}`);
  },
  async 'tools/call'(server, message, headers) {
    const name = message.params?.name ?? '';
    if (isModern(message) && headers['mcp-name'] !== name) {
      return refuse(message.id, -32020, 'Mcp-Name does not match the body', 400);
    }
    const result = await server.call(name, message.params?.arguments ?? {}, headers);
    return result === undefined ? refuse(message.id, -32602, `Unknown tool: ${name}`, 200) : succeed(message, result);
  },
  'prompts/list': emptyList('prompts'),
  'resources/list': emptyList('resources'),
  'resources/templates/list': emptyList('resourceTemplates'),
};

const OLDER_ONLY: Record<string, Step> = {
  initialize: (server, message) => {
    const asked = message.params?.protocolVersion ?? '';
    const version = OLDER.includes(asked) ? asked : OLDER[0];
    const info = JSON.stringify({ name: server.name, version: '1.0.0' });
    return succeed(
      message,
      `{"protocolVersion":"${version ?? ''}","capabilities":${CAPABILITIES},"serverInfo":${info}}`,
    );
  },
  ping: (_server, message) => succeed(message, '{}'),
};

const MODERN_ONLY: Record<string, Step> = {
  'server/discover': (server, message) =>
    succeed(
      message,
      `{"supportedVersions":["${MODERN}"],"capabilities":${CAPABILITIES}${hints(server, message)},` +
        `"_meta":{"io.modelcontextprotocol/serverInfo":${JSON.stringify({ name: server.name, version: '1.0.0' })}}}`,
    ),
};

/** Answers one request of either kind of revision. */
export function answerRequest(
  server: FakeServer,
  message: Message,
  headers: IncomingHttpHeaders,
): Answer | Promise<Answer> {
  const modern = isModern(message);
  const asked = message.params?._meta?.[VERSION_KEY];
  if (modern && asked !== MODERN) {
    const data = { supported: [MODERN], requested: asked };
    return refuse(message.id, -32022, 'Unsupported protocol version', 400, data);
  }
  const method = message.method ?? '';
  const step = (modern ? MODERN_ONLY : OLDER_ONLY)[method] ?? SHARED[method];
  return step
    ? step(server, message, headers)
    : refuse(message.id, -32601, `Method not found: ${method}`, modern ? 404 : 200);
}
