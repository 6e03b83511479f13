import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  ListRootsResultSchema,
  type ServerNotification,
  type ServerRequest,
} from '@modelcontextprotocol/sdk/types.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { z } from 'zod';
import type { ToolCounts } from './tool-counts.ts';
import { ELICITATION, runTool, SAMPLING, STREAM, text, TOOLS, type Stream, type ToolContext } from './tools.ts';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** Builds the server of one session with the 1.x line of the official SDK. */
export function buildOldServer(counts: ToolCounts): McpServer {
  const server = new McpServer(
    { name: 'sdk-1', version: '1.0.0' },
    { capabilities: { logging: {}, tools: { listChanged: true } } },
  );
  for (const { name, description, inputSchema, run } of TOOLS) {
    server.registerTool(name, { description, inputSchema }, (args, extra) =>
      runTool({ name, run }, args, toContext(server, extra, counts)),
    );
  }
  registerQuestions(server, counts);
  server.registerPrompt('greet', { description: 'Greets', argsSchema: { name: z.string() } }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Hello ${name}` } }],
  }));
  for (const name of ['one', 'two']) {
    server.registerResource(name, `sdk://${name}`, { mimeType: 'text/plain' }, (uri) => ({
      contents: [{ uri: uri.href, text: `resource ${name}` }],
    }));
  }
  const template = new ResourceTemplate('sdk://items/{id}', { list: undefined });
  server.registerResource('item', template, { mimeType: 'text/plain' }, (uri, { id }) => ({
    contents: [{ uri: uri.href, text: `item ${String(id)}` }],
  }));
  return server;
}

function toContext(server: McpServer, extra: Extra, counts: ToolCounts): ToolContext {
  const progressToken = extra._meta?.progressToken;
  return {
    signal: extra.signal,
    counts,
    async reportProgress(progress, total) {
      if (progressToken === undefined) return;
      await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total } });
    },
    async log(data, stream) {
      if (stream === 'session') await server.sendLoggingMessage({ level: 'info', data });
      else await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data } });
    },
  };
}

function registerQuestions(server: McpServer, counts: ToolCounts): void {
  const questions: Record<string, (stream: Stream, extra: Extra) => Promise<unknown>> = {
    elicit: (stream, { sendRequest }) =>
      stream === 'session'
        ? server.server.elicitInput(ELICITATION)
        : sendRequest({ method: 'elicitation/create', params: ELICITATION }, ElicitResultSchema),
    sample: (stream, { sendRequest }) =>
      stream === 'session'
        ? server.server.createMessage(SAMPLING)
        : sendRequest({ method: 'sampling/createMessage', params: SAMPLING }, CreateMessageResultSchema),
    roots: (stream, { sendRequest }) =>
      stream === 'session' ? server.server.listRoots() : sendRequest({ method: 'roots/list' }, ListRootsResultSchema),
  };
  for (const [name, ask] of Object.entries(questions)) {
    const inputSchema = { stream: STREAM };
    server.registerTool(name, { description: `Asks the client: ${name}`, inputSchema }, ({ stream }, extra) => {
      const run = async () => text(JSON.stringify(await ask(stream, extra)));
      return runTool({ name, run }, {}, toContext(server, extra, counts));
    });
  }
}
