import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { until } from '../gateway/until.ts';
import { serveGateway } from '../gateway/serve-gateway.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import { cutCalls } from '../relay/cut-calls.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { sdkServerCommand, startSdkServer } from '../sdk-servers/start-sdk-server.ts';
import { describeWithRedis } from './redis-programs.ts';
import { sharedIn } from './replicas.ts';
import { startRedis, type RedisServer } from './start-redis.ts';

afterEach(closeAll);

type Kind = 'http' | 'http with an event store' | 'sse' | 'stdio' | 'shared stdio';
type Backend = GatewayConfig['backends'][number];

async function backendOf(kind: Kind): Promise<Backend> {
  if (kind === 'stdio' || kind === 'shared stdio') {
    const stdio_process = kind === 'stdio' ? 'perSession' : 'shared';
    return { name: 'a', transport: 'stdio', stdio_process, ...sdkServerCommand('old') };
  }
  const server = await startSdkServer('old', {
    transport: kind === 'sse' ? 'sse' : 'http',
    eventStore: kind === 'http with an event store',
  });
  closing({ close: server.stop });
  return { name: 'a', transport: kind === 'sse' ? 'sse' : 'streamable-http', url: server.url };
}

describeWithRedis('a call that its client cancels at another replica', () => {
  let redis: RedisServer | undefined;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());

  it.each<Kind>(['http', 'http with an event store', 'sse', 'stdio', 'shared stdio'])(
    'ends at both replicas (%s)',
    async (kind) => {
      const { settings, files } = sharedIn({ addr: redis!.address });
      const config: GatewayConfig = { incoming: { type: 'anonymous' }, backends: [await backendOf(kind)], ...settings };
      const [here, there] = [
        closing(await serveGateway(config, { files })),
        closing(await serveGateway(config, { files })),
      ];
      const resumed: number[] = [];
      // Routes cancellations and resumptions to the second replica.
      const routed: typeof fetch = async (input, init) => {
        const resumes = new Headers(init?.headers).has('last-event-id');
        const isThere = resumes || (typeof init?.body === 'string' && init.body.includes('notifications/cancelled'));
        const response = await fetch(isThere ? there.url : input, init);
        if (resumes) resumed.push(response.status);
        return response;
      };
      const client = closing(await connectOldClient(new URL(here.url), { fetch: routed }));
      const counted = async () => {
        const { structuredContent } = await client.callTool({ name: 'a_count', arguments: {} });
        return (structuredContent as Record<string, { begun: number; ended: number; aborted: number }>).patient;
      };
      const cancel = new AbortController();
      const params = { name: 'a_patient', arguments: { ms: 600_000 } };
      const call = client.callTool(params, undefined, { signal: cancel.signal });
      call.catch(() => undefined);
      await until('the call', async () => (await counted())?.begun === 1);
      cancel.abort();
      await expect(call).rejects.toThrow();
      await until('its end at the backend', async () => {
        const counts = await counted();
        return counts?.aborted === 1 && counts.ended === 1;
      });
      await until('its place', () => here.runtime.gateway.services.backends.get('a')?.running === 0);
      if (kind !== 'http with an event store') return;
      await until('the resumption', () => resumed.length > 0);
      expect(resumed).toEqual([405]);
    },
  );

  it('ends at the replica that resumed its stream', async () => {
    const { settings, files } = sharedIn({ addr: redis!.address });
    const config: GatewayConfig = {
      incoming: { type: 'anonymous' },
      backends: [await backendOf('http with an event store')],
      operational: { timeouts: { default: '10m' } },
      ...settings,
    };
    const here = closing(await serveGateway(config, { files }));
    const there = closing(await serveGateway(config, { files }));
    const cut = cutCalls();
    // Resumes streams at the second replica, and sends other requests to the first one.
    let isResumed = false;
    const routed: typeof fetch = async (input, init) => {
      const resumes = new Headers(init?.headers).has('last-event-id');
      const response = await cut.fetch(resumes ? there.url : input, init);
      isResumed ||= resumes && response.ok;
      return response;
    };
    const client = closing(await connectOldClient(new URL(here.url), { fetch: routed }));
    const cancel = new AbortController();
    const params = { name: 'a_patient', arguments: { ms: 600_000 } };
    const call = client.callTool(params, undefined, { signal: cancel.signal });
    call.catch(() => undefined);
    const runningThere = () => there.runtime.gateway.services.backends.get('a')?.running;
    await until('the resumption', () => isResumed && runningThere() === 1);
    cancel.abort();
    await expect(call).rejects.toThrow();
    await until('its place', () => runningThere() === 0);
  });
});

describeWithRedis('a silent call at one replica', () => {
  let redis: RedisServer | undefined;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());

  it("ends after the client's answer at another replica, and not before", async () => {
    const { settings, files } = sharedIn({ addr: redis!.address });
    const config: GatewayConfig = {
      incoming: { type: 'anonymous' },
      backends: [await backendOf('http')],
      operational: { timeouts: { default: '4s' } },
      ...settings,
    };
    const [here, there] = [
      closing(await serveGateway(config, { files })),
      closing(await serveGateway(config, { files })),
    ];
    let [opened, answered] = [false, false];
    const routed: typeof fetch = async (input, init) => {
      const isAnswer = typeof init?.body === 'string' && init.body.includes('"accept"');
      const response = await fetch(init?.method === 'GET' || isAnswer ? there.url : input, init);
      opened ||= init?.method === 'GET' && response.ok;
      return response;
    };
    const elicit = async () => {
      await sleep(12_000);
      answered = true;
      return { action: 'accept' as const, content: { name: 'Ada' } };
    };
    const client = closing(await connectOldClient(new URL(here.url), { fetch: routed, answers: { elicit } }));
    await until('the stream of the client', () => opened);
    const asking = client.callTool({ name: 'a_elicit', arguments: { stream: 'session' } });
    const silent = client.callTool({ name: 'a_patient', arguments: { ms: 600_000 } });
    await expect(silent).rejects.toThrow(/did not answer in time/);
    expect(answered).toBe(true);
    await asking;
  });
});
