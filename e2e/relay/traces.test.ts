import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { protectedGateway } from '../attacks/protected-gateway.ts';
import { servePlain, type PlainBackend } from '../fakes/backend/serve-plain.ts';
import type { Intercept } from '../fakes/mcp/serve.ts';
import { serveTokens } from '../fakes/token-service.ts';
import { serveCollector, type CollectedSpan, type Collector } from '../fakes/otlp/serve-collector.ts';
import { send, sendModern, SessionClient } from '../gateway/session-client.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const CONTEXT = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=1' };

const collector = async (options?: Parameters<typeof serveCollector>[0]) => closing(await serveCollector(options));
const telemetry = (endpoint: string, more: object = {}) => ({
  telemetry_config: { tracingEnabled: true, endpoint, insecure: true, samplingRate: '1', ...more },
});

/** Starts a backend that records the headers and the message of each tool call. */
async function keepingBackend(): Promise<
  PlainBackend & { calls: { traceparent: unknown; state: unknown; body: string }[] }
> {
  const calls: { traceparent: unknown; state: unknown; body: string }[] = [];
  const backend = await servePlain({
    tools: 1,
    intercept: ({ headers }, _response, body) => {
      if (body.includes('tools/call'))
        calls.push({ traceparent: headers.traceparent, state: headers.tracestate, body });
      return false;
    },
  });
  return closing({ ...backend, calls });
}

const named = ({ spans }: Collector, name: string) => spans.filter((span) => span.name === name);
async function first(from: Collector, name: string): Promise<CollectedSpan> {
  await until(`the span ${name}`, () => named(from, name).length > 0);
  return named(from, name)[0]!;
}
const AuditLine = z.object({
  type: z.string(),
  outcome: z.string(),
  metadata: z.object({ session: z.string().optional(), trace_id: z.string().optional() }),
});
const auditLines = (gateway: ServedGateway) =>
  gateway
    .log()
    .split('\n')
    .filter((line) => line.includes('"audit_id"'))
    .map((line) => AuditLine.parse(JSON.parse(line)));
async function metric(gateway: ServedGateway, line: string): Promise<number> {
  const { text } = await send(`http://127.0.0.1:${gateway.runtime.address.privatePort}/metrics`, 'GET', {});
  return Number(
    text
      .split('\n')
      .find((one) => one.startsWith(line))
      ?.split(' ')
      .at(-1) ?? 'NaN',
  );
}
const call = (client: SessionClient, args: object = { text: 'x' }, meta?: object) =>
  client.request('tools/call', { name: 'a_tool_0', arguments: args, ...(meta && { _meta: meta }) });

describe('a traced request', () => {
  it('makes server, decision and backend call spans, and the backend gets its context', async () => {
    const [to, backend] = [await collector(), await keepingBackend()];
    const authz = { policies: ['permit(principal, action, resource);'] };
    const gateway = await gatewayTo({ a: backend.url }, { ...telemetry(to.url), authz });
    const client = await SessionClient.open(gateway.url);
    await call(client);
    await gateway.runtime.stop();
    const server = await first(to, 'tools/call a_tool_0');
    expect(server).toMatchObject({ kind: 2, parentId: '', status: 0 });
    expect(server.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'url.path': '/mcp',
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': '2025-11-25',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'a_tool_0',
      'vmcp.backend': 'a',
      'vmcp.outcome': 'success',
    });
    expect(server.resource).toEqual({
      'service.name': 'gateway',
      'service.version': '0.0.0',
      'service.namespace': 'e2e',
    });
    const [policy, backendCall] = [await first(to, 'policy'), await first(to, 'call a')];
    for (const { traceId, parentId } of [policy, backendCall])
      expect([traceId, parentId]).toEqual([server.traceId, server.spanId]);
    expect(backendCall.kind).toBe(3);
    expect(backend.calls).toMatchObject([{ traceparent: `00-${server.traceId}-${backendCall.spanId}-01` }]);
    expect(server.milliseconds).toBeGreaterThanOrEqual(backendCall.milliseconds);
  });

  it('writes an audit line with its trace and with the session as in its span, also if it is refused', async () => {
    const [to, backend] = [await collector(), await keepingBackend()];
    const gateway = await gatewayTo({ a: backend.url }, { ...telemetry(to.url), audit_config: { enabled: true } });
    const client = await SessionClient.open(gateway.url);
    await call(client);
    const id = client.headers['mcp-session-id'] ?? '';
    await send(client.url, 'POST', { ...client.headers, origin: 'https://evil.example' }, client.message('ping'));
    await gateway.runtime.stop();
    const lines = auditLines(gateway);
    const [server, refused] = [await first(to, 'tools/call a_tool_0'), await first(to, 'POST')];
    expect(lines.find(({ type }) => type === 'mcp_tool_call')?.metadata).toMatchObject({
      trace_id: server.traceId,
      session: server.attributes['mcp.session.id'],
    });
    expect(lines.find(({ outcome }) => outcome === 'denied')?.metadata.trace_id).toBe(refused.traceId);
    expect(gateway.log()).not.toContain(id.slice(0, 8));
    expect(to.raw()).not.toContain(id.slice(0, 8));
  });

  it('writes an audit line without a trace if it is not traced', async () => {
    const gateway = await gatewayTo({ a: (await keepingBackend()).url }, { audit_config: { enabled: true } });
    await call(await SessionClient.open(gateway.url));
    await gateway.runtime.stop();
    const line = auditLines(gateway).find(({ type }) => type === 'mcp_tool_call');
    expect(line?.metadata).toMatchObject({ session: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(line?.metadata.trace_id).toBeUndefined();
  });

  it("continues the caller's context, the message's before the headers', in both revisions", async () => {
    const [to, backend] = [await collector(), await keepingBackend()];
    const config = { ...telemetry(to.url), passthrough_headers: ['traceparent'] };
    const gateway = await gatewayTo({ a: backend.url }, config);
    const client = await SessionClient.open(gateway.url);
    const body = client.message('tools/call', { name: 'a_tool_0', arguments: { text: 'x' } });
    await send(client.url, 'POST', { ...client.headers, ...CONTEXT }, body);
    const other = { ...CONTEXT, traceparent: CONTEXT.traceparent.replace(TRACE, TRACE.replace('4', '5')) };
    await send(
      client.url,
      'POST',
      { ...client.headers, ...other },
      client.message('tools/call', { name: 'a_tool_0', arguments: { text: 'x' }, _meta: { ...CONTEXT, mine: [1] } }),
    );
    await sendModern(gateway.url, 'tools/call', { name: 'a_tool_0', arguments: { text: 'x' }, _meta: CONTEXT });
    await gateway.runtime.stop();
    expect(named(to, 'tools/call a_tool_0')).toHaveLength(3);
    for (const { traceId, parentId, traceState } of named(to, 'tools/call a_tool_0'))
      expect([traceId, parentId, traceState]).toEqual([TRACE, PARENT, 'vendor=1']);
    const sent = named(to, 'call a').map(({ spanId }) => `00-${TRACE}-${spanId}-01`);
    expect(new Set(backend.calls.map(({ traceparent }) => traceparent))).toEqual(new Set(sent));
    // The message has the same context as the headers, and keeps its other members.
    const [, second] = backend.calls;
    expect(JSON.parse(second!.body)).toMatchObject({
      params: { _meta: { traceparent: second!.traceparent, mine: [1] } },
    });
    expect(second!.state).toBe('vendor=1');
  });

  it('records its failure by fixed words, without tokens, arguments, results or unknown names', async () => {
    const to = await collector();
    const { gateway, backend, ...at } = await protectedGateway({
      config: telemetry(to.url, { useLegacyAttributes: true }),
    });
    const alice = await at.bearer();
    const client = await SessionClient.open(gateway.url, alice);
    await call(client, { text: 'secret-argument' });
    await client.call('secret-tool-name', {});
    await client.request('secret/method');
    await send(gateway.url, 'POST', { authorization: 'Bearer secret-token' }, client.message('ping'));
    await backend.close();
    await call(client, { text: 'secret-argument' });
    await until('all', () => to.spans.filter(({ kind }) => kind === 2).length >= 7);
    const failures = to.spans.filter(({ kind }) => kind === 2).map(({ attributes }) => attributes['error.type']);
    expect(failures).toEqual(
      expect.arrayContaining(['unknown_name', 'method_not_found', 'invalid_token', 'backend_refused']),
    );
    const away = to.spans.find(({ attributes }) => attributes['error.type'] === 'backend_refused');
    expect(away).toMatchObject({ status: 2, attributes: { 'mcp.tool.name': 'a_tool_0', 'http.status_code': 200 } });
    expect(to.spans.find(({ name, status }) => name === 'call a' && status === 2)).toMatchObject({
      attributes: { 'error.type': 'refused' },
    });
    expect(to.raw()).not.toMatch(/secret|xxxx/);
    expect(to.raw()).not.toContain(client.headers['mcp-session-id']);
    expect(to.raw()).not.toContain(alice.authorization.split('.')[1]);
    expect(to.raw()).not.toContain('alice');
  });

  it('has a span for the credential that it needs', async () => {
    const [to, tokens] = [await collector(), closing(await serveTokens())];
    let refusals = 1;
    const intercept: Intercept = (_request, response, body) => {
      if (!body.includes('tools/call') || refusals-- <= 0) return false;
      response.writeHead(401).end();
      return true;
    };
    const { backend, ...at } = await protectedGateway({ backend: { intercept } });
    const auth = { type: 'token_exchange' as const, token_url: tokens.url, audience: 'a' };
    const backends = [{ name: 'a', transport: 'streamable-http' as const, url: backend.url, auth }];
    await at.gateway.reconfigure({ incoming: at.incoming, backends, ...telemetry(to.url) });
    const client = await SessionClient.open(at.gateway.url, await at.bearer());
    expect((await call(client)).answer.result).toBeDefined();
    const server = await first(to, 'tools/call a_tool_0');
    expect(await first(to, 'credential')).toMatchObject({ kind: 1, traceId: server.traceId, parentId: server.spanId });
    expect(to.raw()).not.toContain('opaque');
  });

  it('carries the configured service, headers with secret ones, attributes and variables', async () => {
    const to = await collector();
    process.env.VMCP_TEST_ZONE = 'zone-1';
    const settings = {
      ...{ serviceName: 'tools', serviceVersion: '7', headers: { 'x-key': 'k' }, header_files: { 'x-secret': 'key' } },
      ...{ customAttributes: { team: 'a' }, environmentVariables: ['VMCP_TEST_ZONE', 'VMCP_TEST_NONE'] },
    };
    const { url } = await keepingBackend();
    const gateway = await gatewayTo({ a: url }, telemetry(`${to.url}/own/path`, settings), {
      files: { key: 'hidden' },
    });
    await call(await SessionClient.open(gateway.url));
    await gateway.runtime.stop();
    const span = await first(to, 'call a');
    expect(span.resource).toMatchObject({ 'service.name': 'tools', 'service.version': '7' });
    expect(span.attributes).toMatchObject({ team: 'a', 'environment.VMCP_TEST_ZONE': 'zone-1' });
    expect(to.requests[0]).toMatchObject({ path: '/own/path', headers: { 'x-key': 'k', 'x-secret': 'hidden' } });
    expect(to.spans.every(({ attributes }) => attributes['http.method'] === undefined)).toBe(true);
  });
});

describe('the span exporter', () => {
  const pem = (name: string) =>
    readFileSync(new URL(`../../runtime/incoming/testdata/${name}`, import.meta.url), 'utf8');

  it('uses https with its own authorities, applies their change, and reports undelivered spans once', async () => {
    const tls = { cert: pem('loopback-cert.pem'), key: pem('loopback-key.pem') };
    const [to, { url }] = [await collector({ tls }), await keepingBackend()];
    const files = { ca: tls.cert, other: pem('renewed-cert.pem') };
    const settings = (ca?: string) => telemetry(to.url, { insecure: false, ...(ca && { ca_bundle_file: ca }) });
    const gateway = await gatewayTo({ a: url }, settings('other'), { files });
    const client = await SessionClient.open(gateway.url);
    await call(client);
    await until('the loss', async () => (await metric(gateway, 'vmcp_spans_total{result="dropped"}')) > 0);
    expect(gateway.log()).toContain('spans are lost: the collector does not take them');
    expect(to.spans).toEqual([]);
    await gateway.reconfigure(configTo({ a: url }, settings('ca')));
    await call(client);
    await first(to, 'tools/call a_tool_0');
  }, 30_000);

  it('uses the proxy of the environment', async () => {
    const [to, { url }] = [await collector(), await keepingBackend()];
    const asked: string[] = [];
    const proxy = createServer((incoming, response) => {
      asked.push(new URL(incoming.url ?? '').host);
      const { port } = new URL(to.url);
      const { method, headers } = incoming;
      const onward = request({ host: '127.0.0.1', port, method, headers, path: '/v1/traces' }, (answer) => {
        answer.pipe(response);
      });
      incoming.pipe(onward);
    });
    await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve));
    closing({ close: () => void proxy.close() });
    const { port } = proxy.address() as AddressInfo;
    const gateway = await gatewayTo({ a: url }, telemetry('http://otel.invalid:4318'), {
      proxy: { httpProxy: `http://127.0.0.1:${port}`, noProxy: '127.0.0.1' },
    });
    await call(await SessionClient.open(gateway.url));
    await gateway.runtime.stop();
    await first(to, 'tools/call a_tool_0');
    expect(asked).toContain('otel.invalid:4318');
  });

  it("ignores the environment's settings for exporters", async () => {
    const [to, elsewhere, { url }] = [await collector(), await collector(), await keepingBackend()];
    const variables = {
      OTEL_EXPORTER_OTLP_ENDPOINT: elsewhere.url,
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-foreign=1',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_SERVICE_NAME: 'foreign',
      OTEL_RESOURCE_ATTRIBUTES: 'foreign=1',
      OTEL_TRACES_SAMPLER: 'always_off',
    };
    const before = process.env;
    process.env = { ...before, ...variables };
    try {
      const gateway = await gatewayTo({ a: url }, telemetry(to.url));
      await call(await SessionClient.open(gateway.url));
      await gateway.runtime.stop();
      const { resource } = await first(to, 'tools/call a_tool_0');
      expect(resource).toEqual({ 'service.name': 'gateway', 'service.version': '0.0.0', 'service.namespace': 'e2e' });
      const [{ headers }] = to.requests as [(typeof to.requests)[number]];
      expect([headers['x-foreign'], headers['content-encoding']]).toEqual([undefined, undefined]);
      expect(elsewhere.requests).toEqual([]);
    } finally {
      process.env = before;
    }
  });

  it.each([
    ['that is busy is asked once more', { refusals: 1, status: 503 }, 'exported'],
    ['that refuses is not', { refusals: 1, status: 400 }, 'dropped'],
  ])('retries only temporary failures: one %s', async (_what, fault, result) => {
    const [to, { url }] = [await collector(fault), await keepingBackend()];
    const gateway = await gatewayTo({ a: url }, telemetry(to.url));
    await call(await SessionClient.open(gateway.url));
    await until('the end', async () => (await metric(gateway, `vmcp_spans_total{result="${result}"}`)) > 0);
  });
});

describe('traces', () => {
  it("follow the sampling rate, and the caller's decision if it is traced", async () => {
    const [to, backend] = [await collector(), await keepingBackend()];
    const gateway = await gatewayTo({ a: backend.url }, telemetry(to.url, { samplingRate: '0' }));
    const client = await SessionClient.open(gateway.url);
    await call(client);
    const notTraced = { traceparent: CONTEXT.traceparent.replace(/01$/, '00') };
    const body = client.message('tools/call', { name: 'a_tool_0', arguments: { text: 'x' } });
    await send(client.url, 'POST', { ...client.headers, ...notTraced }, body);
    await send(client.url, 'POST', { ...client.headers, ...CONTEXT }, body);
    await gateway.runtime.stop();
    expect(to.spans.every(({ traceId }) => traceId === TRACE)).toBe(true);
    expect(named(to, 'tools/call a_tool_0')).toHaveLength(1);
    const [own, unsampled] = backend.calls;
    expect(own!.traceparent).toBeUndefined();
    expect(unsampled!.traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
  });

  it('start and stop with the configuration; waiting spans go out then and at the end', async () => {
    const [one, two, backend] = [await collector(), await collector(), await keepingBackend()];
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await call(client);
    expect(backend.calls[0]!.traceparent).toBeUndefined();
    await gateway.reconfigure(configTo({ a: backend.url }, telemetry(one.url)));
    await call(client);
    await gateway.reconfigure(configTo({ a: backend.url }, telemetry(two.url)));
    await first(one, 'tools/call a_tool_0');
    await call(client);
    await gateway.runtime.stop();
    expect(named(one, 'tools/call a_tool_0')).toHaveLength(1);
    expect(named(two, 'tools/call a_tool_0')).toHaveLength(1);
  });

  it('include requests that ran when tracing was switched off', async () => {
    const to = await collector();
    const held = { answer: (): void => undefined, came: false };
    const backend = await servePlain({
      tools: 1,
      intercept: (_request, response, body) => {
        if (!body.includes('tools/call')) return false;
        const { id } = JSON.parse(body) as { id: unknown };
        held.came = true;
        held.answer = () =>
          void response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } }));
        return true;
      },
    });
    closing(backend);
    const gateway = await gatewayTo({ a: backend.url }, telemetry(to.url));
    const called = call(await SessionClient.open(gateway.url));
    await until('the call', () => held.came);
    await gateway.reconfigure(configTo({ a: backend.url }));
    // The waiting spans are sent, and the call still runs.
    await until('the others', async () => (await metric(gateway, 'vmcp_spans_total{result="exported"}')) > 0);
    held.answer();
    expect((await called).answer.result).toBeDefined();
    const server = await first(to, 'tools/call a_tool_0');
    expect(await first(to, 'call a')).toMatchObject({ parentId: server.spanId });
    expect(await metric(gateway, 'vmcp_spans_total{result="dropped"}')).toBe(0);
  });

  it('send no spans to a refused address, report it in the log, and calls continue', async () => {
    const { url } = await keepingBackend();
    const gateway = await gatewayTo({ a: url });
    await gateway.reconfigure(configTo({ a: url }, telemetry('http://127.0.0.1:9', { insecure: false })));
    expect(gateway.log()).toContain('telemetry_config.endpoint: is http: write https, or insecure: true');
    expect((await call(await SessionClient.open(gateway.url))).answer.result).toBeDefined();
  });

  it.each([
    ['is not there', undefined],
    ['refuses them', { status: 400 }],
    ['says nothing', { silent: true }],
  ])('delay no call if the collector %s', async (what, options) => {
    const to = options ? await collector(options) : undefined;
    const { url } = await keepingBackend();
    const gateway = await gatewayTo({ a: url }, telemetry(to?.url ?? 'http://127.0.0.1:9'));
    const client = await SessionClient.open(gateway.url);
    for (let i = 0; i < 800; i++) await client.request('ping');
    expect((await call(client)).answer.result).toBeDefined();
    if (what !== 'says nothing')
      await until('the loss', async () => (await metric(gateway, 'vmcp_spans_total{result="dropped"}')) > 0);
    const before = performance.now();
    await gateway.runtime.stop();
    expect(performance.now() - before).toBeLessThan(20_000);
  });
});
