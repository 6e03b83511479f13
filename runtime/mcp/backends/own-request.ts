import { randomBytes } from 'node:crypto';

/** Clients and other replicas share the backend sessions, so each id names the process. */
const PROCESS = randomBytes(9).toString('base64url');
let last = 0;

interface OwnRequest {
  /** JSON text. */
  readonly idText: string;
  readonly body: Buffer;
}

/** MCP, "Requests": unused in the session. The official SDK loses an answer if two requests share an id. `paramsText`: JSON text. */
export function ownRequest(method: string, paramsText: string): OwnRequest {
  last += 1;
  const idText = `"vmcp-${PROCESS}-${last}"`;
  const text = `{"jsonrpc":"2.0","id":${idText},"method":${JSON.stringify(method)},"params":${paramsText}}`;
  return { idText, body: Buffer.from(text) };
}
