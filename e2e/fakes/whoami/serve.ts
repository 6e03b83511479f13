import type { FakeServer } from '../mcp/answer.ts';
import { serveFake, type RunningFake } from '../mcp/serve.ts';
import { describeCaller } from './describe-caller.ts';

const INPUT = { type: 'object', properties: {} };
const TOOLS = [
  { name: 'whoami', description: 'Tells whose request reached this server, and with which token', inputSchema: INPUT },
];

/**
 * Serves an MCP server whose one tool `whoami` returns the caller: the claims of the token, a hash of it, the names of
 * the headers. It shows the credentials that a gateway sends to a backend. @param port 0 takes a free one @param host
 * address to listen on; in a container 0.0.0.0
 */
export function serveWhoami(port = 0, host?: string): Promise<RunningFake> {
  const server: FakeServer = {
    name: 'whoami',
    cacheScope: 'private',
    tools: () => TOOLS,
    call(name, _args, headers) {
      if (name !== 'whoami') return undefined;
      const structuredContent = describeCaller(headers);
      const content = [{ type: 'text', text: JSON.stringify(structuredContent, null, 2) }];
      return JSON.stringify({ content, structuredContent });
    },
  };
  return serveFake(server, port, undefined, host);
}
