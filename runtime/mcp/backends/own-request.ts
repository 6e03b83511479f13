import { randomBytes } from 'node:crypto';

/** Own requests go over sessions that the client and other replicas use as well, so an id names the process, too. */
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
 * in the session). Official SDK servers lose an answer where two requests under way have one id.
 * @param paramsText JSON text of `params`
 */
export function ownRequest(method: string, paramsText: string): OwnRequest {
  last += 1;
  const idText = `"vmcp-${PROCESS}-${last}"`;
  const text = `{"jsonrpc":"2.0","id":${idText},"method":${JSON.stringify(method)},"params":${paramsText}}`;
  return { idText, body: Buffer.from(text) };
}
