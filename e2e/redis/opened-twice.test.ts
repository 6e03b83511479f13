import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { serveGateway, type ServedGateway } from '../gateway/serve-gateway.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { startSdkServer } from '../sdk-servers/start-sdk-server.ts';
import { describeWithRedis } from './redis-programs.ts';
import { sharedIn } from './replicas.ts';
import { startRedis, type RedisServer } from './start-redis.ts';

afterEach(closeAll);

/** Starts a proxy that holds the first `initialize` of a client until release. `session`: the session that it opens. */
async function holdFirstInitialize(port: number) {
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
  const seen = { isHeld: false, session: undefined as unknown, ended: [] as unknown[] };
  const forward = async (req: IncomingMessage, res: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const { method, url, headers } = req;
    if (method === 'DELETE') seen.ended.push(headers['mcp-session-id']);
    // Probes of the gateway carry the gateway's own client name.
    const isHeld = !seen.isHeld && body.includes('"initialize"') && body.includes('"name":"old"');
    seen.isHeld ||= isHeld;
    if (isHeld) await released;
    const sent = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
      if (isHeld) seen.session = answer.headers['mcp-session-id'];
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    sent.on('error', () => res.destroy());
    res.once('close', () => sent.destroy());
    sent.end(body);
  };
  const server = createServer((req, res) => void forward(req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    release(undefined);
    server.closeAllConnections();
    server.close();
  };
  closing({ close });
  return {
    seen,
    release: () => release(undefined),
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
  };
}

describeWithRedis('a backend session that two replicas open at the same time', () => {
  let redis: RedisServer | undefined;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());

  it('becomes at both replicas the one opened first, and the other one ends', async () => {
    const server = await startSdkServer('old');
    closing({ close: server.stop });
    const proxy = await holdFirstInitialize(server.port);
    const { settings, files } = sharedIn({ addr: redis!.address });
    const backends: GatewayConfig['backends'] = [{ name: 'a', transport: 'streamable-http', url: proxy.url }];
    const config: GatewayConfig = { incoming: { type: 'anonymous' }, backends, ...settings };
    const here = closing(await serveGateway(config, { files }));
    const there = closing(await serveGateway(config, { files }));
    const routed: typeof fetch = (input, init) =>
      fetch(typeof init?.body === 'string' && init.body.includes('a_echo') ? there.url : input, init);
    const client = closing(await connectOldClient(new URL(here.url), { fetch: routed }));
    const id = client.transport?.sessionId ?? '';
    const sessionAt = (gateway: ServedGateway) => gateway.runtime.gateway.services.sessions.get(id);
    const backendSessionAt = (gateway: ServedGateway) => sessionAt(gateway)?.backendSessions[0]?.sessionId;
    // The client's stream opens the session here.
    await until('the first initialize', () => proxy.seen.isHeld);
    await client.callTool({ name: 'a_echo', arguments: { text: 'x' } });
    const opened = backendSessionAt(there);
    expect(opened).toBeDefined();
    await until('the event of the other replica', () => backendSessionAt(here) === opened);
    proxy.release();
    await until('the end of its opening here', () => sessionAt(here)?.opening === undefined);
    expect([backendSessionAt(here), backendSessionAt(there)]).toEqual([opened, opened]);
    await until('the end of the other one', () => proxy.seen.ended.includes(proxy.seen.session));
    expect(proxy.seen.ended).not.toContain(opened);
  });
});
