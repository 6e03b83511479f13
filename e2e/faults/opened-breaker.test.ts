import { afterEach, describe, expect, it } from '@jest/globals';
import { serveGateway, type ServedGateway } from '../gateway/serve-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import { connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { sdkServerCommand, startSdkServer } from '../sdk-servers/start-sdk-server.ts';

afterEach(closeAll);

type Transport = 'streamable-http' | 'sse' | 'stdio';
interface Timeouts {
  default: string;
  maximum?: string;
}

const FAILURES = 3;
const failure_handling = { circuit_breaker: { enabled: true, failure_threshold: FAILURES, timeout: '1h' } };

async function gatewayBefore(transport: Transport, timeouts: Timeouts): Promise<ServedGateway> {
  const operational = { timeouts, failure_handling };
  if (transport === 'stdio') {
    const backend = { name: 'a', transport, stdio_process: 'perSession', ...sdkServerCommand('old') } as const;
    return closing(await serveGateway({ incoming: { type: 'anonymous' }, backends: [backend], operational }));
  }
  const server = await startSdkServer('old', { transport: transport === 'sse' ? 'sse' : 'http', keepAliveMs: 100 });
  closing({ close: server.stop });
  return gatewayTo({ a: { url: server.url, transport } }, { operational });
}

describe.each<Transport>(['streamable-http', 'sse', 'stdio'])(
  'the circuit breaker of a backend over %s',
  (transport) => {
    it.each<[end: string, timeouts: Timeouts, tool: string, args: Record<string, number>]>([
      ['are silent for too long', { default: '2s' }, 'a_patient', { ms: 600_000 }],
      [
        'reach the maximum with progress',
        { default: '60s', maximum: '2s' },
        'a_progress',
        { steps: 6_000, every: 100 },
      ],
    ])('opens after calls that %s', async (_end, timeouts, tool, args) => {
      const gateway = await gatewayBefore(transport, timeouts);
      const client = closing(await connectOldClient(new URL(gateway.url)));
      await client.listTools();
      const { backends } = gateway.runtime.gateway.services;
      await until('the end of what was asked first', () => backends.get('a')?.running === 0);
      const options = { timeout: 300_000, onprogress: () => undefined };
      const call = () => client.callTool({ name: tool, arguments: args }, undefined, options);
      // The calls run concurrently, as a success between them would reset the count.
      const ends = await Promise.allSettled(Array.from({ length: FAILURES }, call));
      for (const end of ends) expect(String(end.status === 'rejected' && end.reason)).toMatch(/did not answer in time/);
      expect(backends.get('a')?.breaker.state).toBe('open');
      await expect(call()).rejects.toThrow(/has failed several times in a row/);
    });
  },
);
