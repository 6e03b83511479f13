// An MCP server on stdio that proves which secret it was started with, without disclosing it.
import { createHash } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'tell-secret', version: '1' });
server.registerTool(
  'tell',
  { outputSchema: { digest: z.string(), args: z.array(z.string()), mode: z.string() } },
  () => {
    const told = {
      digest: createHash('sha256')
        .update(process.env.TOKEN ?? '')
        .digest('hex'),
      args: process.argv.slice(2),
      mode: process.env.MODE ?? '',
    };
    return { content: [{ type: 'text', text: JSON.stringify(told) }], structuredContent: told };
  },
);
await server.connect(new StdioServerTransport());
