import { sendModern, type Reply } from '../gateway/session-client.ts';
import type { Caller } from '../fakes/whoami/describe-caller.ts';

/** Calls `whoami` of a backend with an access token. */
export function callWhoami(
  mcpUrl: string,
  accessToken: string,
  backend: string,
  capabilities: Readonly<Record<string, unknown>> = {},
): Promise<Reply> {
  const params = {
    name: `${backend}_whoami`,
    arguments: {},
    _meta: { 'io.modelcontextprotocol/clientCapabilities': capabilities },
  };
  return sendModern(mcpUrl, 'tools/call', params, { authorization: `Bearer ${accessToken}` });
}

/** Returns the caller's identity at that backend. @throws if the call failed */
export async function whoIs(mcpUrl: string, accessToken: string, backend: string): Promise<Caller> {
  const { status, text, answer } = await callWhoami(mcpUrl, accessToken, backend);
  const caller = answer.result?.structuredContent as Caller | undefined;
  if (caller === undefined) throw new Error(`${backend}_whoami: ${status} ${text}`);
  return caller;
}

/** Returns the names of the tools that the caller sees. */
export async function toolNames(mcpUrl: string, accessToken: string): Promise<readonly string[]> {
  const { status, text, answer } = await sendModern(
    mcpUrl,
    'tools/list',
    {},
    {
      authorization: `Bearer ${accessToken}`,
    },
  );
  if (answer.result === undefined) throw new Error(`tools/list: ${status} ${text}`);
  return (answer.result.tools as { name: string }[]).map(({ name }) => name).sort();
}
