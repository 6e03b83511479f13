import { servePlain, type PlainBackend } from './serve-plain.ts';
import type { Message } from '../mcp/answer.ts';

/** Serves a plain backend that logs. It appends each level that it receives to `levels`, as its name and the level. */
export function serveLogging(name: string, levels: string[]): Promise<PlainBackend> {
  return servePlain({
    tools: 1,
    name,
    intercept: (_request, response, body) => {
      const message = JSON.parse(body || '{}') as Message & { params?: { level?: string } };
      const answer = (result: object) => {
        response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': name });
        response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
        return true;
      };
      if (message.method === 'initialize')
        return answer({ protocolVersion: '2025-11-25', capabilities: { logging: {}, tools: {} }, serverInfo: {} });
      if (message.method !== 'logging/setLevel') return false;
      levels.push(`${name} ${message.params?.level ?? ''}`);
      return answer({});
    },
  });
}
