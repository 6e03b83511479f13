import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** Connects a client to an endpoint. */
export async function connect(endpoint: string, token?: string): Promise<Client> {
  const client = new Client({ name: 'e2e', version: '1' });
  const requestInit = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit }));
  return client;
}

/** Calls one tool and returns its structured content. */
export async function callTool(endpoint: string, name: string, token?: string): Promise<Record<string, unknown>> {
  const client = await connect(endpoint, token);
  try {
    const { structuredContent } = await client.callTool({ name, arguments: {} });
    return structuredContent as Record<string, unknown>;
  } finally {
    await client.close();
  }
}
