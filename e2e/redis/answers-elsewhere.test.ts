import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { serveGateway } from '../gateway/serve-gateway.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { connectNewClient, connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { sdkServerCommand, startSdkServer } from '../sdk-servers/start-sdk-server.ts';
import { describeWithRedis } from './redis-programs.ts';
import { sharedIn } from './replicas.ts';
import { startRedis, type RedisServer } from './start-redis.ts';

afterEach(closeAll);

type Kind = 'http' | 'sse' | 'stdio';

async function backendOf(kind: Kind): Promise<GatewayConfig['backends'][number]> {
  if (kind === 'stdio')
    return { name: 'a', transport: 'stdio', stdio_process: 'perSession', ...sdkServerCommand('old') };
  const server = await startSdkServer('old', { transport: kind });
  closing({ close: server.stop });
  return { name: 'a', transport: kind === 'sse' ? 'sse' : 'streamable-http', url: server.url };
}

/** Returns replies in the order of the questions, for a test to resolve one by one. */
function replies() {
  const asked: ((name: string) => void)[] = [];
  const elicit = async () => {
    const name = await new Promise<string>((resolve) => asked.push(resolve));
    return { action: 'accept' as const, content: { name } };
  };
  return { asked, elicit };
}

describeWithRedis('a client’s answer to a backend’s question', () => {
  let redis: RedisServer | undefined;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());

  it.each<[Kind, 'old' | 'new']>([
    ['http', 'old'],
    ['sse', 'old'],
    ['sse', 'new'],
    ['stdio', 'old'],
    ['stdio', 'new'],
  ])('reaches only the right call, over %s at the other replica (%s client)', async (kind, version) => {
    const { settings, files } = sharedIn({ addr: redis!.address });
    const config: GatewayConfig = { incoming: { type: 'anonymous' }, backends: [await backendOf(kind)], ...settings };
    const here = closing(await serveGateway(config, { files }));
    const there = closing(await serveGateway(config, { files }));
    const { asked, elicit } = replies();
    let calls = 0;
    // Routes the first call here and the second one there, and the answer to each to the other replica.
    const routed: typeof fetch = (input, init) => {
      const body = typeof init?.body === 'string' ? init.body : '';
      const isSecond = body.includes('a_elicit') && ++calls === 2;
      return fetch(isSecond || body.includes('"Ada"') ? there.url : input, init);
    };
    const connect = version === 'old' ? connectOldClient : connectNewClient;
    const client = closing(await connect(new URL(here.url), { fetch: routed, answers: { elicit } }));
    const call = async () => JSON.stringify(await client.callTool({ name: 'a_elicit', arguments: {} }));
    const first = call();
    await until('the first question', () => asked.length === 1);
    const second = call();
    await until('the second question', () => asked.length === 2);
    asked[0]?.('Ada');
    expect(await first).toContain('Ada');
    asked[1]?.('Bea');
    expect(await second).toContain('Bea');
  });
});
