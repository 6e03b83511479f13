import { request as httpRequest, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { behave } from '../fakes/backend/behaviours.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import type { Message } from '../fakes/mcp/answer.ts';
import { serveGateway, type ServedGateway } from '../gateway/serve-gateway.ts';
import { SessionClient } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { connectNewClient, connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { sdkServerCommand, startSdkServer, type Sdk } from '../sdk-servers/start-sdk-server.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

type Kind = Parameters<typeof startSdkServer>[1] | 'stdio';
interface Timeouts {
  default: string;
  maximum?: string;
}

const KEEP_ALIVES = { keepAliveMs: 100 };
const LONG = { ms: 600_000 };
const DID_NOT_ANSWER = /did not answer in time/;

async function gatewayBefore(sdk: Sdk, kind: Kind, timeouts: Timeouts): Promise<ServedGateway> {
  const operational = { timeouts };
  if (kind === 'stdio') {
    const stdio = { transport: 'stdio', stdio_process: 'perSession', ...sdkServerCommand(sdk) } as const;
    const incoming = { type: 'anonymous' } as const;
    return closing(await serveGateway({ incoming, backends: [{ name: 'a', ...stdio }], operational }));
  }
  const server = await startSdkServer(sdk, kind);
  closing({ close: server.stop });
  const transport = kind?.transport === 'sse' ? 'sse' : 'streamable-http';
  return gatewayTo({ a: { url: server.url, transport } }, { operational });
}

async function connect({ url }: ServedGateway) {
  const client = closing(await connectOldClient(new URL(url)));
  // The client's own timeout is long.
  const call = (name: string, args: object, onprogress?: () => void) =>
    client.callTool({ name: `a_${name}`, arguments: { ...args } }, undefined, {
      timeout: 300_000,
      ...(onprogress && { onprogress }),
    });
  const counted = async (name: string) => {
    const { structuredContent } = await call('count', {});
    return (structuredContent as Record<string, { ended: number; aborted: number }>)[name];
  };
  return { call, counted };
}

describe.each<[name: string, sdk: Sdk, kind: Kind]>([
  ['1.x over streamable HTTP', 'old', KEEP_ALIVES],
  ['1.x over streamable HTTP with an event store', 'old', { ...KEEP_ALIVES, eventStore: true }],
  ['2.x over streamable HTTP', 'new', KEEP_ALIVES],
])('a silent call at a backend of the SDK %s, which writes keep-alives', (_name, sdk, kind) => {
  it('ends at its deadline, and the backend gets a cancellation', async () => {
    const gateway = await gatewayBefore(sdk, kind, { default: '1s' });
    const { call, counted } = await connect(gateway);
    await expect(call('patient', LONG)).rejects.toThrow(DID_NOT_ANSWER);
    await until('its place', () => gateway.runtime.gateway.services.backends.get('a')?.running === 0);
    await until('its end at the backend', async () => (await counted('patient'))?.aborted === 1);
  });
});

describe.each<[name: string, kind: Kind]>([
  ['streamable HTTP, where logs come on the session', KEEP_ALIVES],
  ['SSE', { transport: 'sse' }],
  ['stdio', 'stdio'],
])('a silent call over %s', (_name, kind) => {
  it('ends at its deadline, even if other calls log', async () => {
    const gateway = await gatewayBefore('old', kind, { default: '2s' });
    const { call } = await connect(gateway);
    const lines = { lines: 6_000, every: 100, stream: 'session' };
    const logging = call('log', lines).catch(() => undefined);
    await expect(call('patient', LONG)).rejects.toThrow(DID_NOT_ANSWER);
    await logging;
  });
});

describe('a silent call of 2026-07-28', () => {
  it('ends at its deadline', async () => {
    const gateway = await gatewayBefore('new', KEEP_ALIVES, { default: '1s' });
    const client = closing(await connectNewClient(new URL(gateway.url), { revision: '2026-07-28' }));
    const call = client.callTool({ name: 'a_patient', arguments: LONG }, { timeout: 300_000 });
    await expect(call).rejects.toThrow(DID_NOT_ANSWER);
  });
});

describe.each<[name: string, kind: Kind]>([
  ['streamable HTTP', KEEP_ALIVES],
  ['SSE', { transport: 'sse' }],
  ['stdio', 'stdio'],
])('a call over %s that reports progress', (_name, kind) => {
  it('may take longer than its deadline', async () => {
    const { call } = await connect(await gatewayBefore('old', kind, { default: '3s' }));
    const result = await call('progress', { steps: 12, every: 500 }, () => undefined);
    expect(result).toMatchObject({ content: [{ text: 'reported 12 steps' }] });
  });

  it('ends at the maximum', async () => {
    const gateway = await gatewayBefore('old', kind, { default: '30s', maximum: '3s' });
    const { call } = await connect(gateway);
    let steps = 0;
    await expect(call('progress', { steps: 6_000, every: 100 }, () => steps++)).rejects.toThrow(DID_NOT_ANSWER);
    expect(steps).toBeGreaterThan(0);
  });
});

describe('a call that logs on its own stream', () => {
  it('may take longer than its deadline', async () => {
    const { call } = await connect(await gatewayBefore('old', KEEP_ALIVES, { default: '3s' }));
    const result = await call('log', { lines: 12, every: 500 });
    expect(result).toMatchObject({ content: [{ text: 'logged 12 lines' }] });
  });
});

describe('a call that ends at its deadline without a fault of its backend', () => {
  /** Starts a backend with these answers, behind a gateway whose circuit breaker opens at the first failure. */
  async function serveCalls(answer: (response: ServerResponse, message: Message) => void) {
    const server = closing(
      await servePlain({
        tools: 1,
        intercept: (_request, response, body) => {
          if (!body.includes('"tools/call"')) return false;
          answer(response, JSON.parse(body) as Message);
          return true;
        },
      }),
    );
    const failure_handling = { circuit_breaker: { enabled: true, failure_threshold: 1 } };
    const operational = { timeouts: { default: '3s' }, failure_handling };
    const gateway = await gatewayTo({ a: server.url }, { operational });
    return {
      client: await SessionClient.open(gateway.url),
      backend: gateway.runtime.gateway.services.backends.get('a'),
    };
  }

  it('leaves the circuit breaker closed if the client does not read a large answer', async () => {
    const knobs = { bytes: 60_000_000, delayMs: 0, redirectTo: '' };
    const { client, backend } = await serveCalls((response, message) => behave('huge')(response, message, knobs));
    const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
    const request = httpRequest(client.url, { method: 'POST', headers: { ...headers, ...client.headers } });
    closing({ close: () => request.destroy() });
    request.on('error', () => undefined).on('response', (response) => response.on('error', () => undefined).pause());
    request.end(client.message('tools/call', { name: 'a_tool_0', arguments: { text: 'x' } }));
    await until('the call', () => backend?.running === 1);
    await until('its end', () => backend?.running === 0);
    expect(backend?.breaker.state).toBe('closed');
  });

  it('leaves the circuit breaker closed if the stream continues after the answer', async () => {
    const { client, backend } = await serveCalls((response, { id }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}\n\n`);
    });
    expect((await client.call('a_tool_0', { text: 'x' })).answer.result).toEqual({ content: [] });
    expect([backend?.running, backend?.breaker.state]).toEqual([0, 'closed']);
  });
});
