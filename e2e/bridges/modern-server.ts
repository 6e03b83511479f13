import {
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  type McpServer,
  type InputRequiredResult,
  type ServerContext,
  type ServerNotifier,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { serveWebHandler } from '../fakes/http/serve-web-handler.ts';
import { buildNewServer } from '../sdk-servers/new-server.ts';
import { createToolCounts, type ToolCounts } from '../sdk-servers/tool-counts.ts';
import { ELICITATION, SAMPLING, text } from '../sdk-servers/tools.ts';

/** `id`: that of the request. */
type Answer = (id: unknown) => Response;

/** A server of the SDK's 2.x line in the test's own process. It speaks only 2026-07-28. */
export interface ModernServer {
  readonly url: string;
  readonly counts: ToolCounts;
  readonly notify: ServerNotifier;
  /** Number of requests whose answer has not ended, streams included. */
  open(): number;
  /** Headers of the last call of a tool. */
  lastHeaders(): Headers;
  /** Methods of the requests so far, in order. */
  methods(): readonly string[];
  /** Replaces the answers to the next calls of a tool. */
  answerNext(answer: Answer, times?: number): void;
  /** Replaces the answer to the next `subscriptions/listen`. */
  answerNextListen(answer: Answer): void;
  /** Ends all streams and connections, and takes no more. */
  close(): Promise<void>;
}

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
const NONE = z.object({});
const COUNT = z.object({ count: z.number() });

/** Builds a server of the SDK's 2.x line with tools for each part of revision 2026-07-28. */
export function buildModernServer(counts: ToolCounts): McpServer {
  const server = buildNewServer(counts);
  server.server.registerCapabilities({ resources: { subscribe: true, listChanged: true } });
  registerRounds(server);
  registerSchemas(server);
  registerNotices(server);
  return server;
}

export async function serveModern({ port = 0 } = {}): Promise<ModernServer> {
  const counts = createToolCounts();
  const handler = createMcpHandler(() => buildModernServer(counts), { legacy: 'reject' });
  // Node's signal of a request fires only while the request itself is referenced.
  const open = new Set<Request>();
  let lastHeaders = new Headers();
  const next = new Map<string, Answer[]>();
  const methods: string[] = [];
  const server = await serveWebHandler(async (request) => {
    open.add(request);
    request.signal.addEventListener('abort', () => open.delete(request));
    const method = request.headers.get('mcp-method') ?? '';
    if (method === 'tools/call') lastHeaders = request.headers;
    methods.push(method);
    const answer = next.get(method)?.shift();
    return answer ? answer(((await request.json()) as { id: unknown }).id) : handler.fetch(request);
  }, port);
  return {
    url: `${server.origin}/mcp`,
    counts,
    notify: handler.notify,
    open: () => open.size,
    lastHeaders: () => lastHeaders,
    methods: () => methods,
    answerNext: (answer, times = 1) => next.set('tools/call', Array<Answer>(times).fill(answer)),
    answerNextListen: (answer) => next.set('subscriptions/listen', [answer]),
    async close() {
      await handler.close();
      await server.close();
    },
  };
}

type Asking = (count: number, context: ServerContext) => InputRequiredResult | ReturnType<typeof text>;

/** Tools that ask in rounds. `count`: as the name of the tool says. */
const ASKING: Readonly<Record<string, Asking>> = {
  rounds(count, { mcpReq }) {
    const done = JSON.parse(mcpReq.requestState() ?? '[]') as unknown[];
    const answers = mcpReq.inputResponses ? [...done, mcpReq.inputResponses] : done;
    if (answers.length === count) return text(JSON.stringify(answers));
    const key = `round${answers.length}`;
    return inputRequired({
      inputRequests: { [key]: inputRequired.elicit({ ...ELICITATION, message: key }) },
      requestState: JSON.stringify(answers),
    });
  },
  parallel(count, { mcpReq: { inputResponses } }) {
    if (inputResponses) return text(JSON.stringify(inputResponses));
    const asked = Array.from({ length: count }, (_, index) => [`name${index}`, inputRequired.elicit(ELICITATION)]);
    return inputRequired({
      inputRequests: {
        ...Object.fromEntries(asked),
        word: inputRequired.createMessage(SAMPLING),
        roots: inputRequired.listRoots(),
      },
    });
  },
  wait(count, { mcpReq }) {
    const turn = Number(mcpReq.requestState() ?? 0);
    return turn === count ? text(`turn ${turn}`) : inputRequired({ requestState: String(turn + 1) });
  },
  state: (count) =>
    inputRequired({ inputRequests: { name: inputRequired.elicit(ELICITATION) }, requestState: 'x'.repeat(count) }),
  link(_count, { mcpReq: { inputResponses } }) {
    const request = inputRequired.elicitUrl({ message: 'Open it', url: 'https://a.example/pay' });
    return inputResponses ? text(JSON.stringify(inputResponses)) : inputRequired({ inputRequests: { page: request } });
  },
};

function registerRounds(server: McpServer): void {
  for (const [name, ask] of Object.entries(ASKING))
    server.registerTool(name, { inputSchema: COUNT }, ({ count }, context) => ask(count, context));
}

/** Schemas that clients of the SDK's 1.x line reject. */
function registerSchemas(server: McpServer): void {
  const open = fromJsonSchema<{ anything?: unknown }>({ type: 'object', properties: { anything: true, never: false } });
  const list = fromJsonSchema<number[]>({
    type: 'array',
    items: { $ref: '#/$defs/n' },
    $defs: { n: { type: 'number' } },
  });
  const withHeader = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } } as const;
  const region = fromJsonSchema<{ region?: string }>(withHeader);
  server.registerTool('anything', { inputSchema: open, outputSchema: open }, (args) => ({
    content: [],
    structuredContent: args,
  }));
  server.registerTool('numbers', { inputSchema: NONE, outputSchema: list }, () => ({
    content: [],
    structuredContent: [1, 2],
  }));
  server.registerTool('region', { inputSchema: region }, ({ region: given }) => text(String(given)));
}

/* eslint-disable @typescript-eslint/no-deprecated -- a legacy client gets log messages */
function registerNotices(server: McpServer): void {
  server.registerTool('levels', { inputSchema: NONE }, async (_args, { mcpReq }) => {
    for (const level of LEVELS) await mcpReq.log(level, level);
    return text('logged');
  });
  server.registerTool('steps', { inputSchema: COUNT }, async ({ count }, { mcpReq }) => {
    const { _meta, inputResponses } = mcpReq;
    for (let progress = 1; progress <= count + (inputResponses ? 1 : 0); progress++) {
      const params = { progressToken: _meta?.progressToken ?? 0, progress };
      await mcpReq.notify({ method: 'notifications/progress', params });
    }
    return inputResponses
      ? text('done')
      : inputRequired({ inputRequests: { name: inputRequired.elicit(ELICITATION) } });
  });
  server.registerTool('envelope', { inputSchema: NONE }, (_args, { mcpReq }) => ({
    ...text(JSON.stringify({ envelope: mcpReq.envelope, meta: mcpReq._meta })),
    _meta: { 'io.modelcontextprotocol/forged': 1, 'a.example/own': 2 },
  }));
}
