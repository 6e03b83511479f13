import { connectNewClient, type ClientOptions } from '../sdk-servers/connect-sdk-client.ts';
import { closing } from '../relay/gateway-to.ts';

/** Connects the SDK's client in revision 2026-07-28. `call` calls a tool of the backend `old`. */
export async function connectModern(url: string, options: ClientOptions = {}) {
  const client = closing(await connectNewClient(new URL(url), { revision: '2026-07-28', ...options }));
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const { content, ...rest } = await client.callTool({ name: `old_${name}`, arguments: args });
    return { text: (content as { text: string }[])[0]?.text, ...rest };
  };
  const counts = async () => (await call('count')).structuredContent as Record<string, Record<string, number>>;
  return { client, call, counts };
}
