import { createInterface } from 'node:readline';

// An MCP server on standard input and output, with one tool that returns the time of its start.
const at = Date.now();
const results: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'clock', version: '1' },
  },
  ping: {},
  'tools/list': { tools: [{ name: 'started', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: String(at) }], structuredContent: { at } },
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line) as { id?: number | string; method: string };
  if (id === undefined) return;
  const result = results[method];
  const answer = result ? { result } : { error: { code: -32601, message: 'Method not found' } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
});
