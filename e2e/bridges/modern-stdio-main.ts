// An MCP server over stdio made with the 2.x line of the official SDK. It speaks only 2026-07-28.
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { createToolCounts } from '../sdk-servers/tool-counts.ts';
import { text } from '../sdk-servers/tools.ts';
import { buildModernServer } from './modern-server.ts';

const counts = createToolCounts();

function build() {
  const server = buildModernServer(counts);
  server.registerTool('pid', {}, () => text(String(process.pid)));
  server.registerTool('touch', { inputSchema: z.object({ uri: z.string() }) }, async ({ uri }) => {
    await server.server.sendResourceUpdated({ uri });
    return text('touched');
  });
  server.registerTool('change', {}, () => {
    server.sendToolListChanged();
    return text('changed');
  });
  return server;
}

serveStdio(build, { legacy: 'reject' });
