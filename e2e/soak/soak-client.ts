import { StreamableHTTPClientTransport as NewHttpTransport } from '@modelcontextprotocol/client';
import { StreamableHTTPClientTransport as OldHttpTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ANSWERS, connectNewClient, connectOldClient } from '../sdk-servers/connect-sdk-client.ts';

/** `modern` uses 2026-07-28, which has no sessions; `old-sse` the transport of 2024-11-05. */
export type ClientKind = 'old' | 'new' | 'old-sse' | 'modern';

interface ToolResult {
  content: { type: string; text?: string }[];
  isError?: boolean;
}

/** One session of an official SDK client. */
export interface SoakClient {
  call(tool: string, args: Record<string, unknown>, signal?: AbortSignal): Promise<ToolResult>;
  toolNames(): Promise<string[]>;
  /** Cuts the GET stream, as a network does. The SDK opens another. */
  dropStream(): void;
  /** Ends the session by DELETE. */
  end(): Promise<void>;
  /** Closes the connections only; the session stays. */
  abandon(): Promise<void>;
}

/** Returns a fetch, and a function that cuts its GET requests. */
function droppableFetch(): { fetch: typeof fetch; drop: () => void } {
  const streams = new Set<AbortController>();
  return {
    async fetch(input, init = {}) {
      if (init.method !== 'GET') return fetch(input, init);
      const cut = new AbortController();
      streams.add(cut);
      const signal = init.signal ? AbortSignal.any([init.signal, cut.signal]) : cut.signal;
      return fetch(input, { ...init, signal });
    },
    drop() {
      for (const cut of streams) cut.abort(new Error('cut'));
      streams.clear();
    },
  };
}

/** Opens a session with the client of one SDK. */
export async function openSoakClient(
  kind: ClientKind,
  url: URL,
  headers: Record<string, string> = {},
): Promise<SoakClient> {
  const { fetch, drop } = droppableFetch();
  if (kind === 'new' || kind === 'modern') {
    const revision = kind === 'modern' && { revision: '2026-07-28' as const };
    const client = await connectNewClient(url, { answers: ANSWERS, fetch, headers, ...revision });
    const { transport } = client;
    return {
      call: async (name, args, signal) =>
        (await client.callTool({ name, arguments: args }, { ...(signal && { signal }) })) as ToolResult,
      toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
      dropStream: drop,
      async end() {
        if (kind === 'new' && transport instanceof NewHttpTransport) await transport.terminateSession();
        await client.close();
      },
      abandon: () => client.close(),
    };
  }
  const isSse = kind === 'old-sse';
  const client = await connectOldClient(isSse ? new URL('/sse', url) : url, {
    answers: ANSWERS,
    headers,
    ...(isSse ? { transport: 'sse' } : { fetch }),
  });
  const { transport } = client;
  return {
    call: async (name, args, signal) =>
      (await client.callTool({ name, arguments: args }, undefined, { ...(signal && { signal }) })) as ToolResult,
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    dropStream: drop,
    async end() {
      if (transport instanceof OldHttpTransport) await transport.terminateSession();
      await client.close();
    },
    abandon: () => client.close(),
  };
}
