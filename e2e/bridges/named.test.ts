import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { serveCollector, type Collector } from '../fakes/otlp/serve-collector.ts';
import { serveEverything, type EverythingServer } from '../fakes/everything-server/serve.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { send, sendModern, SessionClient } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, gatewayTo } from '../relay/gateway-to.ts';

let servers: EverythingServer[];
let collector: Collector;
let gateway: ServedGateway;

beforeAll(async () => {
  servers = [await serveEverything({ era: 'modern' }), await serveEverything({ era: 'legacy' })];
  collector = await serveCollector();
  gateway = await gatewayTo(
    { modern: servers[0]!.url, legacy: servers[1]!.url },
    {
      audit_config: { enabled: true },
      telemetry_config: { tracingEnabled: true, endpoint: collector.url, insecure: true, samplingRate: '1' },
    },
  );
  const session = await SessionClient.open(gateway.url);
  for (const backend of ['modern', 'legacy']) {
    const name = `${backend}_test_simple_text`;
    expect((await session.call(name, {})).answer.result).toBeDefined();
    expect((await sendModern(gateway.url, 'tools/call', { name, arguments: {} })).answer.result).toBeDefined();
  }
});
afterAll(async () => {
  await closeAll();
  await Promise.all([collector.close(), ...servers.map((server) => server.close())]);
});

const read = async (path: string) =>
  (await send(`http://127.0.0.1:${gateway.runtime.address.privatePort}${path}`, 'GET', {})).text;

interface AuditLine {
  readonly type: string;
  readonly target: { readonly name?: string };
  readonly metadata: { readonly revision?: string; readonly bridge?: string };
}

it('names the bridge of a call in its audit line', async () => {
  const calls = () =>
    gateway
      .log()
      .split('\n')
      .filter((line) => line.includes('"mcp_tool_call"'))
      .map((line) => JSON.parse(line) as AuditLine)
      .map(({ target, metadata: { revision, bridge } }) => [target.name, revision, bridge]);
  await until('four audit lines', () => calls().length === 4);
  expect(calls()).toEqual([
    ['modern_test_simple_text', '2025-11-25', 'legacy-to-modern'],
    ['modern_test_simple_text', '2026-07-28', undefined],
    ['legacy_test_simple_text', '2025-11-25', undefined],
    ['legacy_test_simple_text', '2026-07-28', 'modern-to-legacy'],
  ]);
});

it('counts the calls of each bridge', async () => {
  const lines = (await read('/metrics'))
    .split('\n')
    .filter((line) => /^vmcp_backend_(bridged_requests|calls_parked)/.test(line));
  expect(lines.sort()).toEqual([
    'vmcp_backend_bridged_requests_total{backend="legacy",bridge="modern-to-legacy"} 1',
    'vmcp_backend_bridged_requests_total{backend="modern",bridge="legacy-to-modern"} 1',
    'vmcp_backend_calls_parked{backend="legacy"} 0',
    'vmcp_backend_calls_parked{backend="modern"} 0',
  ]);
});

it('names the bridge of a call in its span', async () => {
  const bridges = () =>
    collector.spans
      .filter(({ name }) => name.startsWith('tools/call'))
      .flatMap(({ attributes }) => attributes['vmcp.bridge'] ?? []);
  await until('the spans of two bridged calls', () => bridges().length === 2);
  expect(bridges().sort()).toEqual(['legacy-to-modern', 'modern-to-legacy']);
});

it('shows in the status what the backends and the sessions speak', async () => {
  expect(JSON.parse(await read('/status'))).toMatchObject({
    backends: [
      { name: 'modern', revisions: ['2026-07-28'] },
      { name: 'legacy', revisions: ['2025-11-25'] },
    ],
    sessions_by_revision: { '2025-11-25': 1 },
  });
});
