import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { until } from '../gateway/until.ts';
import { connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { sdkServerCommand, startSdkServer } from '../sdk-servers/start-sdk-server.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

type Kind = 'streamable-http' | 'sse' | 'stdio';
interface Shown {
  phase: string;
  message: string;
  calls: { in_flight: number; queued: number; oldest_seconds: number };
}

const operational = {
  concurrency: { per_backend: 2, queue: 1 },
  failure_handling: { health_check_interval: '200ms', unhealthy_threshold: 1 },
};

async function gatewayBefore(kind: Kind) {
  if (kind === 'stdio') {
    const stdio = { transport: kind, stdio_process: 'perSession', ...sdkServerCommand('old') } as const;
    const incoming = { type: 'anonymous' } as const;
    return closing(await serveGateway({ incoming, backends: [{ name: 'a', ...stdio }], operational }));
  }
  const server = await startSdkServer('old', { transport: kind === 'sse' ? 'sse' : 'http' });
  closing({ close: server.stop });
  return gatewayTo({ a: { url: server.url, transport: kind } }, { operational });
}

describe.each<Kind>(['streamable-http', 'sse', 'stdio'])('the calls at a backend over %s', (kind) => {
  it('appear in status and metrics, and make the backend degraded while they use all slots', async () => {
    const gateway = await gatewayBefore(kind);
    const privatePort = `http://127.0.0.1:${gateway.runtime.address.privatePort}`;
    const shown = async () => {
      const { backends } = (await (await fetch(`${privatePort}/status`)).json()) as { backends: Shown[] };
      return backends[0];
    };
    const client = closing(await connectOldClient(new URL(gateway.url)));
    await client.listTools();
    await until('the end of what was asked first', async () => (await shown())?.calls.in_flight === 0);
    expect(await shown()).toMatchObject({ phase: 'ready' });
    const cancel = new AbortController();
    const params = { name: 'a_patient', arguments: { ms: 600_000 } };
    const hold = async () => {
      // The gateway may list at the same time, so that one call is refused at first.
      while (!cancel.signal.aborted) {
        await client.callTool(params, undefined, { signal: cancel.signal }).catch(() => undefined);
        await sleep(50);
      }
    };
    for (let calls = 0; calls < 3; calls++) void hold();
    let full = await shown();
    await until('three calls, one of them old', async () => {
      full = await shown();
      return full?.calls.in_flight === 3 && full.calls.oldest_seconds >= 1;
    });
    expect(full).toMatchObject({ phase: 'degraded', calls: { in_flight: 3, queued: 1 } });
    expect(full?.message).toContain('all its places are taken (2 calls at a time and 1 that wait)');
    const metrics = await (await fetch(`${privatePort}/metrics`)).text();
    expect(metrics).toContain('vmcp_backend_calls_in_flight{backend="a"} 3');
    expect(metrics).toContain('vmcp_backend_calls_queued{backend="a"} 1');
    expect(metrics).toMatch(/vmcp_backend_oldest_call_seconds\{backend="a"\} [\d.]*[1-9]/);
    expect(metrics).toContain('vmcp_backend_phase{backend="a",phase="degraded"} 1');
    cancel.abort();
    await until('free places', async () => (await shown())?.calls.in_flight === 0);
    expect(await shown()).toMatchObject({ phase: 'ready', calls: { queued: 0, oldest_seconds: 0 } });
    expect((await shown())?.message).not.toContain('places');
  });
});
