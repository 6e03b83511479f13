import { afterAll, describe, expect, it } from '@jest/globals';
import { until } from '../gateway/until.ts';
import { connectNewClient, connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { startSdkServer, type Sdk } from '../sdk-servers/start-sdk-server.ts';
import { cutCalls } from './cut-calls.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

afterAll(closeAll);

type Call = (name: string, args: Record<string, unknown>) => Promise<unknown>;

const PATIENT = { timeout: 300_000 };

async function connect(sdk: Sdk, url: URL, fetchWith: typeof fetch): Promise<Call> {
  if (sdk === 'old') {
    const client = closing(await connectOldClient(url, { fetch: fetchWith }));
    return (name, args) => client.callTool({ name: `a_${name}`, arguments: args }, undefined, PATIENT);
  }
  const client = closing(await connectNewClient(url, { fetch: fetchWith }));
  return (name, args) => client.callTool({ name: `a_${name}`, arguments: args }, PATIENT);
}

/** Connects a client that has to resume each call, because its streams end early. Returns it with the server's counts. */
async function cutOff(sdk: Sdk, timeouts: { default: string; maximum?: string }) {
  const server = await startSdkServer(sdk, { eventStore: true, keepAliveMs: 100 });
  closing({ close: server.stop });
  const gateway = await gatewayTo({ a: server.url }, { operational: { timeouts } });
  const cut = cutCalls();
  const call = await connect(sdk, new URL(gateway.url), cut.fetch);
  const beside = closing(await connectOldClient(new URL(server.url)));
  const aborted = async (tool: string) => {
    const { structuredContent } = await beside.callTool({ name: 'count', arguments: {} });
    return (structuredContent as Record<string, { aborted: number }>)[tool]?.aborted;
  };
  return { call, aborted, resumed: cut.resumed };
}

describe.each<Sdk>(['old', 'new'])('a resumed call at a backend of the %s SDK, by the client of that SDK', (sdk) => {
  it.concurrent('ends if it is silent for its deadline, without another resumption', async () => {
    const { call, aborted, resumed } = await cutOff(sdk, { default: '8s' });
    await expect(call('patient', { ms: 600_000 })).rejects.toThrow(/did not answer in time/);
    expect(resumed()).toBe(1);
    await until('its end at the backend', async () => (await aborted('patient')) === 1);
  });

  it.concurrent('ends at the maximum in spite of its logs', async () => {
    const { call, resumed } = await cutOff(sdk, { default: '30s', maximum: '10s' });
    await expect(call('log', { lines: 60_000, every: 100 })).rejects.toThrow(/did not answer in time/);
    expect(resumed()).toBe(1);
  });

  it.concurrent('may take longer than its deadline if it logs', async () => {
    const { call, resumed } = await cutOff(sdk, { default: '8s' });
    const result = await call('log', { lines: 24, every: 500 });
    expect(result).toMatchObject({ content: [{ text: 'logged 24 lines' }] });
    expect(resumed()).toBe(1);
  });
});
