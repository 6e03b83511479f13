import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { serveGateway } from '../gateway/serve-gateway.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import { ANSWERS } from '../sdk-servers/connect-sdk-client.ts';
import { sdkServerCommand, startSdkServer, type SdkServer } from '../sdk-servers/start-sdk-server.ts';
import { connectModern } from './connect-modern.ts';

/** A server of the SDK's 1.x line over HTTP+SSE. */
let sse: SdkServer;

beforeAll(async () => {
  sse = await startSdkServer('old', { transport: 'sse' });
}, 120_000);
afterAll(() => sse.stop());
afterEach(closeAll);

type Transport = 'sse' | 'a process for each session' | 'a process for all';

function backendOf(transport: Transport): GatewayConfig['backends'][number] {
  if (transport === 'sse') return { name: 'old', transport: 'sse', url: sse.url };
  const stdio_process = transport === 'a process for all' ? 'shared' : 'perSession';
  return { name: 'old', transport: 'stdio', ...sdkServerCommand('old'), stdio_process };
}

async function start(transport: Transport): Promise<string> {
  return closing(await serveGateway({ incoming: { type: 'anonymous' }, backends: [backendOf(transport)] })).url;
}

const ALL = ['sse', 'a process for each session', 'a process for all'] as const;

describe.each(ALL)('a client of 2026-07-28 and an older server over %s', (transport) => {
  it('lists, calls, reads, and reports progress', async () => {
    const { client, call } = await connectModern(await start(transport));
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('old_echo');
    expect(await call('echo', { text: 'ä' })).toMatchObject({ text: 'ä' });
    expect((await client.readResource({ uri: 'sdk://one' })).contents[0]).toMatchObject({ text: 'resource one' });
    const reports: number[] = [];
    await client.callTool(
      { name: 'old_progress', arguments: { steps: 3, every: 20 } },
      { onprogress: ({ progress }) => reports.push(progress) },
    );
    expect(reports).toEqual([1, 2, 3]);
  }, 30_000);
});

describe.each(['sse', 'a process for each session'] as const)('an older server over %s', (transport) => {
  it.each(['elicit', 'sample', 'roots'])(
    'asks a client of 2026-07-28: %s',
    async (name) => {
      const { call } = await connectModern(await start(transport), { answers: ANSWERS });
      const { text, isError } = await call(name, { stream: 'session' });
      expect(isError).toBeUndefined();
      expect(text).toMatch(/Ada|word|work/);
    },
    30_000,
  );

  it('answers concurrent calls that ask', async () => {
    const { call } = await connectModern(await start(transport), { answers: ANSWERS });
    const all = await Promise.all(['elicit', 'sample', 'roots'].map((name) => call(name, { stream: 'call' })));
    expect(all.map(({ text }) => text)).toEqual([
      expect.stringContaining('Ada'),
      expect.stringContaining('word'),
      expect.stringContaining('work'),
    ]);
  }, 30_000);
});

describe('a call that the client cancels', () => {
  it.each(['sse', 'a process for all'] as const)(
    'ends with a cancellation at the older server over %s',
    async (transport) => {
      const { client, counts } = await connectModern(await start(transport));
      const abort = new AbortController();
      const before = (await counts()).patient ?? { begun: 0, aborted: 0 };
      client
        .callTool({ name: 'old_patient', arguments: { ms: 60_000 } }, { signal: abort.signal })
        .catch(() => undefined);
      await until('the tool runs', async () => ((await counts()).patient?.begun ?? 0) > (before.begun ?? 0));
      abort.abort();
      await until('the tool is aborted', async () => ((await counts()).patient?.aborted ?? 0) > (before.aborted ?? 0));
    },
    30_000,
  );
});
