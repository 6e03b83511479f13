import { randomBytes } from 'node:crypto';

/** Clients and other replicas send requests in the same backend sessions, so each id names the process. */
const PROCESS = randomBytes(9).toString('base64url');
let last = 0;

/** A request that the gateway itself sends to a backend. */
interface OwnRequest {
  /** JSON text. */
  readonly idText: string;
  readonly body: Buffer;
}

/**
 * Returns a JSON-RPC request with an id that no other request of its session has (MCP, "Requests": the id must not have been used before
 * in the session). Servers of the official SDK lose an answer if two requests in flight share an id.
 * @param paramsText JSON text of `params`
 */
export function ownRequest(method: string, paramsText: string): OwnRequest {
  last += 1;
  const idText = `"vmcp-${PROCESS}-${last}"`;
  const text = `{"jsonrpc":"2.0","id":${idText},"method":${JSON.stringify(method)},"params":${paramsText}}`;
  return { idText, body: Buffer.from(text) };
}
