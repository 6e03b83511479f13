import { connect, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { startProgram } from '../gateway/start-program.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import { connectNewClient, connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { startSdkServer } from '../sdk-servers/start-sdk-server.ts';

afterEach(closeAll);

type Operational = NonNullable<RunConfigDocument['operational']>;

/** Probes are disabled, so that calls discover the faults. */
const NO_PROBES = { health_check_interval: '1h' };

/** Starts the gateway with an SDK client in front of a server of the official SDK. */
async function serveSdk(operational: Operational = {}, options: { json?: boolean; transport?: 'sse' } = {}) {
  const server = await startSdkServer('old', options);
  closing({ close: server.stop });
  const failure_handling = { ...NO_PROBES, ...operational.failure_handling };
  const gateway = await gatewayTo(
    { a: { url: server.url, transport: options.transport ?? 'streamable-http' } },
    {
      audit_config: { enabled: true },
      operational: { ...operational, failure_handling },
      limits: { connect_timeout: '500ms' },
    },
  );
  const client = closing(await connectOldClient(new URL(gateway.url)));
  await client.listTools();
  return { server, gateway, client, echo: () => reasonOf(client, 'a_echo', { text: 'hi' }) };
}

/** Calls a tool. Returns the reason and the text of the error; undefined if the tool answered. */
async function reasonOf(client: Client, name: string, args: object): Promise<[unknown, string] | undefined> {
  try {
    await client.callTool({ name, arguments: { ...args } });
    return undefined;
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    return [(error.data as { reason?: unknown } | undefined)?.reason, error.message];
  }
}

const privateUrl = (gateway: ServedGateway, path: string) =>
  `http://127.0.0.1:${gateway.runtime.address.privatePort}${path}`;

const metricsOf = async (gateway: ServedGateway) => (await fetch(privateUrl(gateway, '/metrics'))).text();

async function backendStatus(gateway: ServedGateway): Promise<{ phase: string; message: string; breaker: string }> {
  const status: unknown = await (await fetch(privateUrl(gateway, '/status'))).json();
  const [backend] = (status as { backends: { phase: string; message: string; breaker: string }[] }).backends;
  if (!backend) throw new Error('no backend in the status');
  return backend;
}

/** Waits until the server has received the call. */
const untilRunning = (gateway: ServedGateway, count = 1) =>
  until('the call', () => gateway.runtime.gateway.services.backends.get('a')?.running === count);

/** Starts a program on this port that answers every request with these bytes. */
async function answerWith(port: number, bytes: string): Promise<void> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(bytes));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  closing({ close: () => new Promise((resolve) => server.close(resolve)) });
}

/** Starts a program on this port that accepts no connection, with a full backlog. */
async function acceptNothing(port: number): Promise<void> {
  const program = startProgram(process.execPath, [
    '-e',
    `require('node:net').createServer().listen({ port: ${port}, host: '127.0.0.1', backlog: 1 }, () => {
       require('node:fs').writeSync(1, '{}\\n'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
     })`,
  ]);
  closing({ close: program.stop });
  await program.firstJson(60_000);
  for (let filled = 0; filled < 4; filled++) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    closing({ close: () => socket.destroy() });
  }
}

const PAGE = 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 9\r\n\r\n<p>hi</p>';

describe('the reason of a call without an answer', () => {
  it('becomes refused if nothing listens, in error, audit line and metrics', async () => {
    const { server, gateway, echo } = await serveSdk();
    await server.kill();
    expect(await echo()).toEqual(['refused', expect.stringContaining('backend a cannot be reached: it takes no conn')]);
    await until('the audit line', () => gateway.log().includes('"backend_refused"'));
    expect(gateway.log()).toMatch(/"outcome":"error".*"backend":"a".*"code":"backend_refused"/);
    expect(await metricsOf(gateway)).toContain('vmcp_backend_failures_total{backend="a",reason="refused"} 1');
  });

  it.each([{ json: true }, { json: false }, { transport: 'sse' as const }])(
    'becomes reset if the server is killed during a call (%j)',
    async (options) => {
      const { server, gateway, client } = await serveSdk({}, options);
      const slow = reasonOf(client, 'a_slow', { ms: 60_000 });
      await untilRunning(gateway);
      await server.kill();
      expect(await slow).toEqual(['reset', expect.stringContaining('closed the connection before it answered')]);
    },
  );

  it('becomes reset if the server is killed during a request of 2026-07-28', async () => {
    const server = await startSdkServer('new');
    closing({ close: server.stop });
    const gateway = await gatewayTo({ a: server.url });
    const client = closing(await connectNewClient(new URL(gateway.url), { revision: '2026-07-28' }));
    const failed = client.callTool({ name: 'a_slow', arguments: { ms: 60_000 } }).catch((error: unknown) => error);
    await untilRunning(gateway);
    await server.kill();
    expect(await failed).toMatchObject({ data: { backend: 'a', reason: 'reset' } });
  });

  it('becomes timeout if the call takes too long', async () => {
    const { client } = await serveSdk({ timeouts: { default: '500ms' } });
    expect(await reasonOf(client, 'a_slow', { ms: 60_000 })).toEqual([
      'timeout',
      expect.stringContaining('did not answer in time'),
    ]);
  });

  it('becomes connect_timeout if the backend does not accept the connection', async () => {
    const { server, echo } = await serveSdk();
    await server.kill();
    await acceptNothing(server.port);
    expect(await echo()).toEqual(['connect_timeout', expect.stringContaining('cannot be reached')]);
  });

  it('becomes busy if the concurrency limit is reached', async () => {
    const { gateway, client, echo } = await serveSdk({ concurrency: { per_backend: 1, queue: 1 } });
    const calls = [1, 2].map(() => reasonOf(client, 'a_slow', { ms: 60_000 }));
    await untilRunning(gateway, 2);
    expect(await echo()).toEqual(['busy', expect.stringContaining('too many calls in flight')]);
    await client.close();
    await Promise.allSettled(calls);
  });

  it.each([
    ['a web page', PAGE],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ])('becomes protocol if the backend answers with %s', async (_what, bytes) => {
    const { server, echo } = await serveSdk();
    await server.kill();
    await answerWith(server.port, bytes);
    expect(await echo()).toEqual(['protocol', expect.stringContaining('not valid MCP')]);
  });
});

describe('the circuit breaker of a backend', () => {
  // The gateway's own calls of the killed server count too.
  const handling = { circuit_breaker: { enabled: true, failure_threshold: 5, timeout: '1h' } };

  it('appears as open in the error, the status and the metrics, and closes soon after the server is back', async () => {
    const { server, gateway, echo } = await serveSdk({ failure_handling: handling });
    await server.kill();
    expect(await echo()).toEqual(['refused', expect.any(String)]);
    await until('an open breaker', async () => (await echo())?.[0] === 'breaker_open');
    expect(await echo()).toEqual(['breaker_open', expect.stringContaining('is not called for a while')]);
    expect(await backendStatus(gateway)).toMatchObject({
      phase: expect.stringMatching(/degraded|unavailable/),
      breaker: 'open',
      // The message has no changing numbers, as the operator writes the status on each change of its text.
      message: expect.stringContaining('its circuit breaker is open, as calls failed in a row; one call tries again'),
    });
    expect(await metricsOf(gateway)).toContain('vmcp_backend_breaker{backend="a",state="open"} 1');
    const again = await startSdkServer('old', { port: server.port });
    closing({ close: again.stop });
    await until('a call that is answered', async () => (await echo()) === undefined);
    expect(await backendStatus(gateway)).toMatchObject({
      phase: 'ready',
      breaker: 'closed',
      message: expect.any(String),
    });
    expect(await metricsOf(gateway)).toContain('vmcp_backend_breaker{backend="a",state="closed"} 1');
  });
});
