// An MCP server on standard input and output whose tool `now` has an app.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

const URI = 'ui://clock/view.html';
const text = readFileSync(join(import.meta.dirname, 'page.html'), 'utf8');

const server = new McpServer({ name: 'clock', version: '1' });
server.registerTool('now', { description: 'Tells the time, in an app', _meta: { ui: { resourceUri: URI } } }, () => ({
  content: [{ type: 'text', text: new Date().toISOString() }],
}));
server.registerResource('clock', URI, {}, () => ({
  contents: [{ uri: URI, mimeType: 'text/html;profile=mcp-app', text }],
}));
await server.connect(new StdioServerTransport());
