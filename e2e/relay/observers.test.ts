import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { servePlain, type PlainBackend } from '../fakes/backend/serve-plain.ts';
import { serveCollector } from '../fakes/otlp/serve-collector.ts';
import { send, SessionClient } from '../gateway/session-client.ts';
import { startGateway, type Gateway, type GatewayConfig } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo } from './gateway-to.ts';

// Tests each setting of audit and telemetry in a runtime with its own process.

const testdata = (name: string) =>
  readFileSync(new URL(`../../runtime/incoming/testdata/${name}`, import.meta.url), 'utf8');
const TEXT = 'what-the-caller-says';

interface Line {
  type: string;
  component: string;
  data?: { request?: unknown; response?: unknown; truncated?: string[] };
}

let folder: string;
let backend: PlainBackend;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-observers-'));
  backend = await servePlain({ tools: 1 });
});
afterAll(async () => {
  await backend.close();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(closeAll);

const start = async (more: Partial<GatewayConfig>, env: Record<string, string> = {}) => {
  const gateway = await startGateway(configTo({ a: backend.url }, more), { env });
  closing({ close: () => gateway.stop() });
  return gateway;
};
/** Writes a file into the test's folder. Returns its path. */
const file = (name: string, content: string) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const linesIn = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line.includes('"audit_id"'))
    .map((line) => JSON.parse(line) as Line);

/** Lists tools, calls with a short and a long text, and pings. */
async function use(gateway: Gateway): Promise<void> {
  const client = await SessionClient.open(gateway.url);
  await client.toolNames();
  await client.call('a_tool_0', { text: TEXT });
  await client.call('a_tool_0', { text: TEXT.repeat(50) });
  await client.request('ping');
}
const metricsOf = async (gateway: Gateway) => {
  const { status, text } = await send(`${gateway.privateUrl}/metrics`, 'GET', {});
  return { status, counts: /^vmcp_requests_total\{.*\} [1-9]/m.test(text) };
};

describe('the active audit_config of a process', () => {
  it('sets the destination, the component, the event types, and the amount of recorded data', async () => {
    const logFile = join(folder, 'audit.jsonl');
    const types = { eventTypes: ['mcp_tool_call', 'mcp_ping'], excludeEventTypes: ['mcp_ping'] };
    const data = { includeRequestData: true, includeResponseData: true, maxDataSize: 400 };
    const gateway = await start({ audit_config: { enabled: true, component: 'edge', logFile, ...types, ...data } });
    await use(gateway);
    // All events are written at the end of the process.
    await gateway.stop();
    const lines = linesIn(readFileSync(logFile, 'utf8'));
    expect(linesIn(gateway.output())).toEqual([]);
    expect(lines.map(({ type, component }) => [type, component])).toEqual(Array(2).fill(['mcp_tool_call', 'edge']));
    const [few, many] = lines;
    expect(few?.data).toMatchObject({ request: { arguments: { text: TEXT } }, response: expect.anything() });
    expect(few?.data?.truncated).toBeUndefined();
    expect(many?.data?.truncated).toContain('request');
    expect(JSON.stringify(many?.data).length).toBeLessThan(TEXT.length * 50);
  }, 30_000);

  it("writes all types to standard output under the server's name, without data, by default", async () => {
    const gateway = await start({ audit_config: { enabled: true } });
    await use(gateway);
    await gateway.stop();
    const lines = linesIn(gateway.output());
    expect(lines.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['mcp_initialize', 'mcp_tools_list', 'mcp_tool_call', 'mcp_ping']),
    );
    expect(new Set(lines.map(({ component }) => component))).toEqual(new Set(['gateway']));
    expect(gateway.output()).not.toContain(TEXT);
  }, 30_000);

  it('writes nothing if it is not enabled', async () => {
    const gateway = await start({ audit_config: { enabled: false } });
    await use(gateway);
    await gateway.stop();
    expect(linesIn(gateway.output())).toEqual([]);
  }, 30_000);
});

describe('the active telemetry_config of a process', () => {
  it('sends spans with the configured destination and attributes, and no metrics if they are off', async () => {
    const tls = { cert: testdata('loopback-cert.pem'), key: testdata('loopback-key.pem') };
    const to = closing(await serveCollector({ tls }));
    const gateway = await start(
      {
        telemetry_config: {
          ...{ tracingEnabled: true, endpoint: `${to.url}/own/path`, ca_bundle_file: file('ca.pem', tls.cert) },
          ...{ serviceName: 'tools', serviceVersion: '7', samplingRate: '1', useLegacyAttributes: true },
          ...{ headers: { 'x-key': 'k' }, header_files: { 'x-secret': file('key', 'hidden') } },
          ...{ customAttributes: { team: 'a' }, environmentVariables: ['VMCP_TEST_ZONE'] },
          metricsEnabled: false,
        },
      },
      { VMCP_TEST_ZONE: 'zone-1' },
    );
    await use(gateway);
    await until('the spans', () => to.spans.filter(({ name }) => name === 'tools/call a_tool_0').length === 2);
    const span = to.spans.find(({ name }) => name === 'tools/call a_tool_0');
    expect(span?.resource).toMatchObject({ 'service.name': 'tools', 'service.version': '7' });
    const own = { team: 'a', 'environment.VMCP_TEST_ZONE': 'zone-1' };
    expect(span?.attributes).toMatchObject({ ...own, 'http.response.status_code': 200, 'http.status_code': 200 });
    expect(to.requests[0]).toMatchObject({ path: '/own/path', headers: { 'x-key': 'k', 'x-secret': 'hidden' } });
    expect(await metricsOf(gateway)).toEqual({ status: 200, counts: false });
  }, 30_000);

  it('sends no spans, and counts requests, if only the endpoint is set', async () => {
    const to = closing(await serveCollector());
    const gateway = await start({ telemetry_config: { endpoint: to.url, insecure: true, samplingRate: '1' } });
    await use(gateway);
    expect(await metricsOf(gateway)).toEqual({ status: 200, counts: true });
    // The end of the process would send the remaining spans.
    await gateway.stop();
    expect(to.requests).toEqual([]);
  }, 30_000);

  it('sends no unsampled spans, and serves no metrics if they are off', async () => {
    const to = closing(await serveCollector());
    const sending = { tracingEnabled: true, endpoint: to.url, insecure: true };
    const gateway = await start({
      telemetry_config: { ...sending, samplingRate: '0', enablePrometheusMetricsPath: false },
    });
    await use(gateway);
    expect((await metricsOf(gateway)).status).toBe(404);
    await gateway.stop();
    expect(to.requests).toEqual([]);
  }, 30_000);
});
