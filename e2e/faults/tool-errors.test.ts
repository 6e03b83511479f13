import { afterEach, describe, expect, it } from '@jest/globals';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import { connectNewClient, connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { sdkServerCommand, startSdkServer } from '../sdk-servers/start-sdk-server.ts';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { until } from '../gateway/until.ts';

afterEach(closeAll);

const AUDIT = { audit_config: { enabled: true } };
type Options = Parameters<typeof startSdkServer>[1];
type Backend = 'http' | 'json' | 'sse' | 'stdio';

const OPTIONS: Record<Exclude<Backend, 'stdio'>, Options> = {
  http: { transport: 'http' },
  json: { json: true },
  sse: { transport: 'sse' },
};

async function gatewayBefore(kind: Backend) {
  const incoming = { type: 'anonymous' as const };
  if (kind === 'stdio') {
    const backend = { name: 'a', transport: 'stdio' as const, ...sdkServerCommand('old') };
    return closing(await serveGateway({ incoming, backends: [backend], ...AUDIT }));
  }
  const server = await startSdkServer(kind === 'http' ? 'new' : 'old', OPTIONS[kind]);
  closing({ close: server.stop });
  return gatewayTo({ a: { url: server.url, transport: kind === 'sse' ? 'sse' : 'streamable-http' } }, AUDIT);
}

/** Waits for so many audit lines of tool calls, and returns their outcomes in order. */
async function outcomesOf(gateway: { log(): string }, count: number): Promise<unknown[]> {
  const found = () =>
    gateway
      .log()
      .split('\n')
      .filter((line) => line.includes('"mcp_tool_call"'))
      .map((line): unknown => (JSON.parse(line) as { outcome: unknown }).outcome);
  await until('the audit lines', () => found().length === count);
  return found();
}

describe('audit outcome of a tools/call', () => {
  it.each(['http', 'json', 'sse', 'stdio'] as const)(
    'becomes tool_error for a result with isError, in a session (%s)',
    async (kind) => {
      const gateway = await gatewayBefore(kind);
      const client = await connectOldClient(new URL(gateway.url));
      closing(client);
      expect(await client.callTool({ name: 'a_fail', arguments: {} })).toMatchObject({ isError: true });
      expect(await client.callTool({ name: 'a_echo', arguments: { text: '"isError":true' } })).not.toHaveProperty(
        'isError',
      );
      expect(await outcomesOf(gateway, 2)).toEqual(['tool_error', 'success']);
      const metrics = await fetch(`http://127.0.0.1:${gateway.runtime.address.privatePort}/metrics`);
      expect(await metrics.text()).toContain(
        'vmcp_backend_requests_total{backend="a",outcome="tool_error",status="2xx"} 1',
      );
    },
  );

  it('becomes tool_error for a result with isError, in a request of 2026-07-28', async () => {
    const gateway = await gatewayBefore('http');
    const client = await connectNewClient(new URL(gateway.url), { revision: '2026-07-28' });
    closing(client);
    expect(await client.callTool({ name: 'a_fail', arguments: {} })).toMatchObject({ isError: true });
    expect(await outcomesOf(gateway, 1)).toEqual(['tool_error']);
  });
});
