import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openStream, send, SessionClient, type Rpc } from '../gateway/session-client.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll } from '../relay/gateway-to.ts';
import { describeWithRedis } from '../redis/redis-programs.ts';
import { deleteAt, notifyAt, replicaOf, requestAt, sharedIn } from '../redis/replicas.ts';
import { startRedis, type RedisServer } from '../redis/start-redis.ts';
import { serveModern, type ModernServer } from './modern-server.ts';

const isQuestion = ({ id, method }: Rpc) => id !== undefined && method !== undefined;
const isAnswer = ({ result, error }: Rpc) => result !== undefined || error !== undefined;

describeWithRedis('two replicas in front of a server of 2026-07-28', () => {
  let redis: RedisServer;
  let server: ModernServer;
  let here: ServedGateway;
  let there: ServedGateway;

  beforeAll(async () => {
    redis = await startRedis();
    server = await serveModern();
    const shared = sharedIn({ addr: redis.address });
    const more = { aggregation: { conflict_resolution: 'prefix' } } as const;
    here = await replicaOf(shared, { modern: server.url }, more);
    there = await replicaOf(shared, { modern: server.url }, more);
  }, 60_000);
  afterAll(async () => {
    await closeAll();
    await server.close();
    await redis.stop();
  });

  const open = () => SessionClient.open(here.url, {}, { elicitation: {} });
  const respondAt = (url: string, { headers }: SessionClient, id: Rpc['id'], name: string) =>
    send(url, 'POST', headers, JSON.stringify({ jsonrpc: '2.0', id, result: { action: 'accept', content: { name } } }));

  it('pass the answer to a question to the replica of the call, once', async () => {
    const client = await open();
    const body = client.message('tools/call', { name: 'modern_rounds', arguments: { count: 2 } });
    const call = await openStream(here.url, client.headers, body);
    const first = await call.waitFor(isQuestion);
    expect((await respondAt(there.url, client, first.id, 'Ada')).status).toBe(202);
    const second = await call.waitFor(({ params }) => params?.message === 'round1');
    await respondAt(there.url, client, first.id, 'Eve');
    await respondAt(there.url, client, second.id, 'Bea');
    const { result } = await call.waitFor(isAnswer);
    expect(JSON.stringify(result)).toMatch(/Ada.*Bea/);
    expect(JSON.stringify(result)).not.toContain('Eve');
  });

  it('serve a session at each of them', async () => {
    const client = await open();
    for (const replica of [there, here, there]) {
      const { answer } = await requestAt(replica, client, 'tools/call', {
        name: 'modern_echo',
        arguments: { text: 'x' },
      });
      expect(answer.result).toMatchObject({ content: [{ text: 'x' }] });
    }
  });

  it('cancel a call of the other replica', async () => {
    const client = await open();
    const aborted = () => server.counts.read().patient?.aborted ?? 0;
    const before = aborted();
    const begun = server.counts.read().patient?.begun ?? 0;
    const call = requestAt(here, client, 'tools/call', { name: 'modern_patient', arguments: { ms: 600_000 } });
    await until('the call at the server', () => server.counts.read().patient?.begun === begun + 1);
    await notifyAt(there, client, { method: 'notifications/cancelled', params: { requestId: 1 } });
    await call;
    await until('the end at the server', () => aborted() === before + 1);
  });

  it('report updates on the stream of one replica to which the client subscribed at the other', async () => {
    const client = await open();
    const stream = await client.stream();
    const countOf = (uri: string) => stream.messages().filter(({ params }) => params?.uri === uri).length;
    const reported = (uri: string) =>
      until(`an update of ${uri}`, () => {
        server.notify.resourceUpdated(uri);
        return countOf(uri) > 0;
      });
    await requestAt(there, client, 'resources/subscribe', { uri: 'sdk://one' });
    await reported('sdk://one');
    await requestAt(there, client, 'resources/unsubscribe', { uri: 'sdk://one' });
    await requestAt(there, client, 'resources/subscribe', { uri: 'sdk://two' });
    await reported('sdk://two');
    const before = countOf('sdk://one');
    server.notify.resourceUpdated('sdk://one');
    server.notify.resourceUpdated('sdk://two');
    await until('the second update', () => countOf('sdk://two') > 1);
    expect(countOf('sdk://one')).toBe(before);
    await deleteAt(there, client);
    await until('the end of the stream', () => !stream.isOpen());
    await until('no request at the server', () => server.open() === 0);
  });

  it('confirm a subscription once it holds at the replica with the stream', async () => {
    const client = await open();
    const stream = await client.stream();
    const isUpdate = ({ method }: Rpc) => method === 'notifications/resources/updated';
    await requestAt(there, client, 'resources/subscribe', { uri: 'sdk://one' });
    server.notify.resourceUpdated('sdk://one');
    expect((await stream.waitFor(isUpdate)).params?.uri).toBe('sdk://one');
    server.answerNextListen((id) => Response.json({ jsonrpc: '2.0', id, error: { code: -32602, message: 'No' } }));
    const { answer } = await requestAt(there, client, 'resources/subscribe', { uri: 'sdk://two' });
    expect(answer.error).toMatchObject({ code: -32602, data: { uri: 'sdk://two' } });
    stream.close();
  });

  it('confirm a subscription without a stream', async () => {
    const client = await open();
    const { answer } = await requestAt(there, client, 'resources/subscribe', { uri: 'sdk://one' });
    expect(answer.result).toEqual({});
  });
});
