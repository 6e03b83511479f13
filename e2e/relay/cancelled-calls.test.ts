import { existsSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serveGateway, type ServedGateway } from '../gateway/serve-gateway.ts';
import { until } from '../gateway/until.ts';
import { connectNewClient, connectOldClient, type ClientOptions } from '../sdk-servers/connect-sdk-client.ts';
import { PYTHON_INSTALLED } from '../sdk-servers/python-sdk.ts';
import { sdkServerCommand, startSdkServer, type Sdk } from '../sdk-servers/start-sdk-server.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

type Options = Parameters<typeof startSdkServer>[1];
type Kind = Options | 'stdio' | 'shared stdio';
interface Count {
  begun: number;
  ended: number;
  aborted: number;
}

const LONG = { ms: 600_000 };

async function gatewayBefore(sdk: Sdk, kind: Kind, more: Parameters<typeof gatewayTo>[1] = {}): Promise<ServedGateway> {
  if (typeof kind === 'string') {
    const stdio_process = kind === 'stdio' ? 'perSession' : 'shared';
    const backend = { name: 'a', transport: 'stdio' as const, stdio_process, ...sdkServerCommand(sdk) } as const;
    return closing(await serveGateway({ incoming: { type: 'anonymous' }, backends: [backend], ...more }));
  }
  const server = await startSdkServer(sdk, kind);
  closing({ close: server.stop });
  const transport = kind?.transport === 'sse' ? ('sse' as const) : ('streamable-http' as const);
  return gatewayTo({ a: { url: server.url, transport } }, more);
}

/** Records a client's fetches: method, whether it resumes a stream, and the gateway's answer. */
function watchedFetch() {
  const seen: { method: string; resumes: boolean; status: number; rpc: string }[] = [];
  let calls = 0;
  const watched: typeof fetch = async (input, init) => {
    const body = typeof init?.body === 'string' ? init.body : '{}';
    if (body.includes('tools/call')) calls++;
    const response = await fetch(input, init);
    seen.push({
      method: init?.method ?? 'GET',
      resumes: new Headers(init?.headers).has('last-event-id'),
      status: response.status,
      rpc: (JSON.parse(body) as { method?: string }).method ?? '',
    });
    return response;
  };
  return { seen, watched, begun: () => calls };
}

async function clientOf(sdk: Sdk, gateway: ServedGateway, options: ClientOptions & { revision?: '2026-07-28' } = {}) {
  const url = new URL(gateway.url);
  const client = sdk === 'old' ? await connectOldClient(url, options) : await connectNewClient(url, options);
  closing(client);
  const problems: Error[] = [];
  client.onerror = (error) => problems.push(error);
  const call = async (name: string, args: Record<string, unknown> = {}, signal?: AbortSignal) => {
    const params = { name: `a_${name}`, arguments: args };
    const more = { timeout: 60_000, ...(signal && { signal }) };
    const { content } =
      sdk === 'old'
        ? await (client as Awaited<ReturnType<typeof connectOldClient>>).callTool(params, undefined, more)
        : await (client as Awaited<ReturnType<typeof connectNewClient>>).callTool(params, more);
    const [first] = content as { text: string }[];
    return first?.text ?? '';
  };
  const count = async (name: string) => (JSON.parse(await call('count')) as Record<string, Count>)[name];
  return { client, problems, call, count };
}

const running = (gateway: ServedGateway) => gateway.runtime.gateway.services.backends.get('a')?.running;

const PYTHON_BACKENDS: [name: string, sdk: Sdk, kind: Kind][] = [
  ['Python over streamable HTTP', 'python', {}],
  ['Python over streamable HTTP with JSON answers', 'python', { json: true }],
  ['Python over SSE', 'python', { transport: 'sse' }],
  ['Python over stdio, one process for all', 'python', 'shared stdio'],
];

const BACKENDS: [name: string, sdk: Sdk, kind: Kind][] = [
  ['1.x over streamable HTTP', 'old', {}],
  ['1.x over streamable HTTP with JSON answers', 'old', { json: true }],
  ['1.x over streamable HTTP with an event store', 'old', { eventStore: true }],
  ['2.x over streamable HTTP', 'new', {}],
  ['2.x over streamable HTTP with an event store', 'new', { eventStore: true }],
  ['1.x over SSE', 'old', { transport: 'sse' }],
  ['1.x over stdio, a process for each session', 'old', 'stdio'],
  ['2.x over stdio, one process for all', 'new', 'shared stdio'],
  // Skipped without the Python SDK. `make test` prints that.
  ...(existsSync(PYTHON_INSTALLED) ? PYTHON_BACKENDS : []),
];

describe.each(BACKENDS)('a call that its client cancels, at a backend of the SDK %s', (_name, sdk, kind) => {
  it.each(['old', 'new'] as const)('ends everywhere, and the session of the %s client continues', async (version) => {
    const gateway = await gatewayBefore(sdk, kind);
    const { seen, watched } = watchedFetch();
    const { call, count, problems } = await clientOf(version, gateway, { fetch: watched });
    const cancel = new AbortController();
    const cancelled = call('patient', LONG, cancel.signal);
    cancelled.catch(() => undefined);
    await until('the call', async () => (await count('patient'))?.begun === 1);
    cancel.abort();
    await expect(cancelled).rejects.toThrow();
    await until('its end at the backend', async () => {
      const counted = await count('patient');
      return counted?.aborted === 1 && counted.ended === 1;
    });
    await until('its place', () => running(gateway) === 0 && gateway.runtime.gateway.services.running.size <= 1);
    if (typeof kind === 'object' && kind.eventStore === true) {
      await until('the resumption', () => seen.some(({ resumes }) => resumes));
      expect(seen.filter(({ resumes }) => resumes).map(({ status }) => status)).toEqual([405]);
    }
    expect(await call('echo', { text: 'goes on' })).toBe('goes on');
    expect(problems).toEqual([]);
  });
});

describe('calls that their clients cancel', () => {
  it.each(['old', 'new'] as const)('free all slots, with connections of %s clients left open', async (version) => {
    const gateway = await gatewayBefore('old', {});
    const { call } = await clientOf(version, gateway);
    for (let round = 0; round < 8; round++) {
      const cancels = Array.from({ length: 40 }, () => new AbortController());
      const calls = cancels.map(({ signal }) => call('slow', LONG, signal).catch(() => 'cancelled'));
      await until('the calls', () => running(gateway) === 40);
      for (const cancel of cancels) cancel.abort();
      expect(new Set(await Promise.all(calls))).toEqual(new Set(['cancelled']));
      await until('their places', () => running(gateway) === 0);
    }
    expect(await call('echo', { text: 'still served' })).toBe('still served');
  });

  it.each(['old', 'new'] as const)('free all slots if the %s client cancels at once', async (version) => {
    const gateway = await gatewayBefore('old', {});
    const { seen, begun, watched } = watchedFetch();
    const { call } = await clientOf(version, gateway, { fetch: watched });
    await call('echo', { text: 'listed' });
    const cancels = Array.from({ length: 40 }, () => new AbortController());
    const calls = cancels.map(({ signal }) => call('slow', LONG, signal).catch(() => 'cancelled'));
    await until('the requests', () => begun() === 41);
    for (const cancel of cancels) cancel.abort();
    await Promise.all(calls);
    await until('the answers', () => seen.filter(({ rpc }) => rpc === 'tools/call').length === 41);
    await until('their places', () => running(gateway) === 0);
  });

  it('end at a backend without a free slot', async () => {
    const server = await startSdkServer('old');
    closing({ close: server.stop });
    const gateway = await gatewayTo({ a: server.url }, { operational: { concurrency: { per_backend: 4, queue: 0 } } });
    const { call } = await clientOf('old', gateway);
    const beside = closing(await connectOldClient(new URL(server.url)));
    const counted = async () => {
      const { structuredContent } = await beside.callTool({ name: 'count', arguments: {} });
      return (structuredContent as Record<string, Count>).patient;
    };
    await call('echo', { text: 'listed' });
    await until('the end of what was asked first', () => running(gateway) === 0);
    const cancel = new AbortController();
    const calls: Promise<string>[] = [];
    // The gateway's own lists may use a slot for a moment.
    await until('the calls', async () => {
      if (running(gateway) !== 4) calls.push(call('patient', LONG, cancel.signal).catch(() => 'cancelled'));
      return (await counted())?.begun === 4;
    });
    expect(running(gateway)).toBe(4);
    cancel.abort();
    await Promise.all(calls);
    await until('their end at the backend', async () => (await counted())?.aborted === 4);
  });

  it('end when the stream closes in 2026-07-28', async () => {
    const gateway = await gatewayBefore('new', {});
    const { call, count } = await clientOf('new', gateway, { revision: '2026-07-28' });
    const cancel = new AbortController();
    const cancelled = call('patient', LONG, cancel.signal);
    cancelled.catch(() => undefined);
    await until('the call', async () => (await count('patient'))?.begun === 1);
    cancel.abort();
    await expect(cancelled).rejects.toThrow();
    await until('its end at the backend', async () => (await count('patient'))?.aborted === 1);
    await until('its place', () => running(gateway) === 0);
  });

  it('end without an answer for clients of the HTTP+SSE transport', async () => {
    const gateway = await gatewayBefore('old', {}, { proxy_mode: 'sse' });
    const url = new URL(`${gateway.origin}/sse`);
    const client = closing(await connectOldClient(url, { transport: 'sse' }));
    const problems: Error[] = [];
    client.onerror = (error) => problems.push(error);
    const cancel = new AbortController();
    const call = client.callTool({ name: 'a_patient', arguments: LONG }, undefined, { signal: cancel.signal });
    call.catch(() => undefined);
    await until('the call', () => running(gateway) === 1);
    cancel.abort();
    await expect(call).rejects.toThrow();
    await until('its place', () => running(gateway) === 0);
    await client.listTools();
    expect(problems).toEqual([]);
  });
});
