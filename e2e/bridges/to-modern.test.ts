import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import { ANSWERS, connectNewClient, connectOldClient, type ClientOptions } from '../sdk-servers/connect-sdk-client.ts';
import { startSdkServer, type SdkServer } from '../sdk-servers/start-sdk-server.ts';

let server: SdkServer;
let url: URL;

beforeAll(async () => {
  server = await startSdkServer('new', { modernOnly: true });
  const gateway = await gatewayTo({ modern: server.url }, { aggregation: { conflict_resolution: 'prefix' } });
  url = new URL(gateway.url);
  const status = `http://127.0.0.1:${gateway.runtime.address.privatePort}/status`;
  await until('the backend is ready', async () => (await send(status, 'GET', {})).text.includes('"ready"'));
}, 60_000);
afterAll(async () => {
  await closeAll();
  await server.stop();
});

const CLIENTS = { '1.x': connectOldClient, '2.x': connectNewClient };

describe.each(Object.entries(CLIENTS))('a legacy client of the SDK %s at a server of 2026-07-28', (_line, connect) => {
  const open = async (options: ClientOptions = {}) => {
    const client = await connect(url, options);
    closing(client);
    const call = async (name: string, args: Record<string, unknown> = {}) => {
      const { content, ...rest } = await client.callTool({ name: `modern_${name}`, arguments: args });
      const [first] = Array.isArray(content) ? (content as { text: string }[]) : [];
      return { text: first?.text, ...rest };
    };
    return { client, call };
  };

  it('lists and calls what it has', async () => {
    const { client, call } = await open();
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(12);
    expect(await call('echo', { text: 'hi' })).toEqual({ text: 'hi' });
    expect((await call('big', { bytes: 2_000_000 })).text).toHaveLength(2_000_000);
    expect(await call('fail')).toMatchObject({ isError: true });
    expect(await call('count')).toMatchObject({ structuredContent: { fail: { aborted: 0 } } });
    expect(await client.getPrompt({ name: 'modern_greet', arguments: { name: 'Ada' } })).toMatchObject({
      messages: [{}],
    });
    expect((await client.listResources()).resources).toHaveLength(2);
    expect(await client.readResource({ uri: 'sdk://items/7' })).toMatchObject({ contents: [{ text: 'item 7' }] });
  });

  it('answers what the server asks during a call', async () => {
    const { call } = await open({ answers: ANSWERS });
    expect((await call('elicit')).text).toContain('Ada');
    expect((await call('sample')).text).toContain('word');
    expect((await call('roots')).text).toContain('file:///work');
  });

  it('gets an error result for input that it did not declare', async () => {
    const { call } = await open();
    const refused = await call('elicit');
    expect(refused).toMatchObject({ isError: true });
    expect(refused.text).toMatch(/elicitation/i);
  });
});
