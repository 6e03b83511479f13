import { randomBytes } from 'node:crypto';
import {
  createMcpHandler,
  createRequestStateCodec,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { serveWebHandler, type RunningServer } from '../http/serve-web-handler.ts';
import { buildServer } from './build-server.ts';
import { createSessions } from './sessions.ts';
import { createServerState } from './server-state.ts';

export interface EverythingServer extends RunningServer {
  /** The MCP endpoint. */
  url: string;
}

/**
 * Serves an MCP server with every feature, for tests and the conformance suite, on loopback only. One endpoint serves
 * 2026-07-28 and the revisions with sessions; the request tells them apart.
 *
 * @param options `era` serves all requests as a server of that era alone does
 */
export async function serveEverything({
  port = 0,
  refusesCalls = false,
  era,
}: { port?: number; refusesCalls?: boolean; era?: 'legacy' | 'modern' } = {}): Promise<EverythingServer> {
  const serverState = createServerState({ refusesCalls });
  const state = createRequestStateCodec<{ round: number }>({ key: randomBytes(32) });
  const build = () => buildServer(serverState, state);
  const modern = createMcpHandler(build, { legacy: 'reject' });
  const stop = serverState.listen(modern.notify);
  const sessions = createSessions(serverState, build);

  const running = await serveWebHandler(async (request) => {
    const refused =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins());
    if (refused) return refused;
    if (new URL(request.url).pathname !== '/mcp') return new Response(null, { status: 404 });
    const asked = era ?? ((await isLegacyRequest(request)) ? 'legacy' : 'modern');
    return asked === 'legacy' ? sessions.handle(request) : modern.fetch(request);
  }, port);

  return {
    ...running,
    url: `${running.origin}/mcp`,
    async close() {
      stop();
      await Promise.all([sessions.close(), modern.close()]);
      await running.close();
    },
  };
}
