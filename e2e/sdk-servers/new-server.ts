import {
  inputRequired,
  McpServer,
  ResourceTemplate,
  type InputRequest,
  type InputRequiredResult,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { ToolCounts } from './tool-counts.ts';
import { ELICITATION, runTool, SAMPLING, STREAM, text, TOOLS, type TextResult, type ToolContext } from './tools.ts';

/** Builds the server of one session, or of one request of 2026-07-28, with the 2.x line of the official SDK. */
export function buildNewServer(counts: ToolCounts): McpServer {
  const server = new McpServer(
    { name: 'sdk-2', version: '1.0.0' },
    { capabilities: { logging: {}, tools: { listChanged: true } } },
  );
  for (const { name, description, inputSchema, run } of TOOLS) {
    server.registerTool(name, { description, inputSchema }, (args, context) =>
      runTool({ name, run }, args, toContext(server, context, counts)),
    );
  }
  registerQuestions(server, counts);
  server.registerPrompt('greet', { description: 'Greets', argsSchema: z.object({ name: z.string() }) }, ({ name }) => ({
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

/* eslint-disable @typescript-eslint/no-deprecated -- logging and server requests are part of the revisions with sessions */

function toContext(server: McpServer, { mcpReq }: ServerContext, counts: ToolCounts): ToolContext {
  const progressToken = mcpReq._meta?.progressToken;
  return {
    signal: mcpReq.signal,
    counts,
    async reportProgress(progress, total) {
      if (progressToken === undefined) return;
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total } });
    },
    async log(data, stream) {
      if (stream === 'session') await server.sendLoggingMessage({ level: 'info', data });
      else await mcpReq.log('info', data);
    },
  };
}

interface Question {
  /** Returned by the tool; the SDK sends it as a request of the call where the revision has sessions. */
  request: InputRequest;
  askSession: (server: McpServer) => Promise<unknown>;
}

const QUESTIONS: Record<string, Question> = {
  elicit: {
    request: inputRequired.elicit(ELICITATION),
    askSession: ({ server }) => server.elicitInput(ELICITATION),
  },
  sample: {
    request: inputRequired.createMessage(SAMPLING),
    askSession: ({ server }) => server.createMessage(SAMPLING),
  },
  roots: {
    request: inputRequired.listRoots(),
    askSession: ({ server }) => server.listRoots(),
  },
};

function registerQuestions(server: McpServer, counts: ToolCounts): void {
  for (const [name, { request, askSession }] of Object.entries(QUESTIONS)) {
    const config = { description: `Asks the client: ${name}`, inputSchema: z.object({ stream: STREAM }) };
    server.registerTool(name, config, ({ stream }, context): Promise<TextResult> | InputRequiredResult => {
      const { inputResponses } = context.mcpReq;
      if (stream === 'call' && inputResponses?.answer === undefined) {
        return inputRequired({ inputRequests: { answer: request } });
      }
      const ask = () => (stream === 'session' ? askSession(server) : inputResponses?.answer);
      const run = async () => text(JSON.stringify(await ask()));
      return runTool({ name, run }, {}, toContext(server, context, counts));
    });
  }
}
