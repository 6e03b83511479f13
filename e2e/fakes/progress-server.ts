import { createMcpHandler, isLegacyRequest, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { createSessions } from './everything-server/sessions.ts';
import { createServerState } from './everything-server/server-state.ts';
import { serveWebHandler } from './http/serve-web-handler.ts';

const TOKENS = z.array(z.union([z.string(), z.number()]));

export interface ProgressServer {
  url: string;
  /** Calls of `wait` that are not answered. */
  waiting: number;
  /** Answers them. */
  release(): void;
  close(): unknown;
}

/**
 * An SDK server with four tools. `wait` answers when it is released. `ask` asks the client for a sample. `cancel` cancels requests by
 * their ids and then its own. `report` reports progress under the tokens that it is given, on the stream of the call or on that of the
 * session. On the latter, it answers when it is released.
 */
export async function serveProgress(): Promise<ProgressServer> {
  let release: () => void = () => undefined;
  let released = new Promise<void>((resolve) => (release = resolve));
  const done = { content: [{ type: 'text' as const, text: 'done' }] };

  async function wait() {
    served.waiting += 1;
    await released;
    served.waiting -= 1;
    return done;
  }

  function build(): McpServer {
    const server = new McpServer({ name: 'progress', version: '1' });
    const inputSchema = z.object({ tokens: TOKENS, stream: z.enum(['call', 'session']) });
    server.registerTool('wait', { inputSchema: z.object({}) }, wait);
    server.registerTool('report', { inputSchema }, async ({ tokens, stream }, { mcpReq }: ServerContext) => {
      for (const progressToken of tokens) {
        const report = { method: 'notifications/progress' as const, params: { progressToken, progress: 1 } };
        await (stream === 'call' ? mcpReq.notify(report) : server.server.notification(report));
      }
      // The stream of the session is another connection, on which reports may come after the answer.
      return stream === 'call' ? done : wait();
    });
    // Answers with the number of reports that the client made for this request.
    server.registerTool('ask', { inputSchema: z.object({}) }, async (_args, { mcpReq }: ServerContext) => {
      let reports = 0;
      const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'say' } }];
      const options = { onprogress: () => (reports += 1), relatedRequestId: mcpReq.id };
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- server requests are part of the revisions with sessions
      await mcpReq.requestSampling({ messages, maxTokens: 5 }, options);
      return { content: [{ type: 'text' as const, text: String(reports) }] };
    });
    server.registerTool(
      'cancel',
      { inputSchema: z.object({ ids: TOKENS }) },
      async ({ ids }, { mcpReq }: ServerContext) => {
        for (const requestId of [...ids, mcpReq.id])
          await mcpReq.notify({ method: 'notifications/cancelled', params: { requestId } });
        return done;
      },
    );
    return server;
  }

  const modern = createMcpHandler(build, { legacy: 'reject' });
  const legacy = createSessions(createServerState({ refusesCalls: false }), build);
  const listening = await serveWebHandler(
    async (request) => ((await isLegacyRequest(request)) ? legacy.handle(request) : modern.fetch(request)),
    0,
  );
  const served: ProgressServer = {
    url: `http://127.0.0.1:${listening.port}/mcp`,
    waiting: 0,
    release() {
      release();
      released = new Promise<void>((resolve) => (release = resolve));
    },
    async close() {
      release();
      await legacy.close();
      await listening.close();
    },
  };
  return served;
}
