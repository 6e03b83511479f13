import {
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type CacheHint,
  type RequestStateCodec,
} from '@modelcontextprotocol/server';
import { registerContentTools } from './content-tools.ts';
import { registerInputTools } from './input-tools.ts';
import { registerPrompts } from './prompts.ts';
import { registerResources } from './resources.ts';
import { registerStreamTools, registerTriggerTools } from './stream-tools.ts';
import type { ServerState } from './server-state.ts';

const HINT: CacheHint = { ttlMs: 60_000, cacheScope: 'public' };

/** Builds an MCP server with all features of the conformance suite, for a session or for a single request. */
export function buildServer(serverState: ServerState, state: RequestStateCodec<{ round: number }>): McpServer {
  const server = new McpServer(
    { name: 'everything-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        logging: {},
        completions: {},
      },
      cacheHints: {
        'tools/list': HINT,
        'prompts/list': HINT,
        'resources/list': HINT,
        'resources/templates/list': HINT,
        'resources/read': HINT,
        'server/discover': HINT,
      },
      requestState: { verify: (value, context) => state.verify(value, context) },
      inputRequired: { roundTimeoutMs: 30_000 },
    },
  );
  registerContentTools(server);
  registerStreamTools(server);
  registerTriggerTools(server, serverState);
  registerInputTools(server, state);
  registerResources(server, serverState);
  registerPrompts(server);
  if (serverState.extraTool) {
    server.registerTool('test_extra_tool', { description: 'There only sometimes' }, () => ({ content: [] }));
  }
  if (serverState.extraPrompt) {
    server.registerPrompt('test_extra_prompt', { description: 'There only sometimes' }, () => ({ messages: [] }));
  }
  if (serverState.refusesCalls) refuseCalls(server);
  return server;
}

function refuseCalls(server: McpServer): void {
  const refuse = () => {
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'this backend must not be called');
  };
  for (const method of ['tools/call', 'prompts/get', 'resources/read', 'completion/complete'] as const) {
    server.server.setRequestHandler(method, refuse);
  }
}
