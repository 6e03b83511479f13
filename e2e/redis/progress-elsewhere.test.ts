import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { serveProgress } from '../fakes/progress-server.ts';
import { SessionClient } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { describeWithRedis } from './redis-programs.ts';
import { replicaOf, requestAt, sharedIn } from './replicas.ts';
import { startRedis, type RedisServer } from './start-redis.ts';

afterEach(closeAll);

describeWithRedis('progress on the stream of a session', () => {
  let redis: RedisServer | undefined;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());

  it('reaches the client for a call that another replica sent, and for no other', async () => {
    const backend = closing(await serveProgress());
    const shared = sharedIn({ addr: redis!.address });
    const [here, there] = [await replicaOf(shared, { a: backend.url }), await replicaOf(shared, { a: backend.url })];
    const client = await SessionClient.open(here.url);
    await client.toolNames();
    const stream = await client.stream();
    const reported = () => stream.messages().flatMap(({ params }) => params?.progressToken ?? []);
    // Often enough that a report would overtake its token, which takes another way.
    for (let nr = 1; nr <= 60; nr++) {
      const progressToken = `mine ${nr}`;
      const params = {
        name: 'a_report',
        arguments: { stream: 'session', tokens: ['guessed', progressToken] },
        _meta: { progressToken },
      };
      const call = requestAt(there, client, 'tools/call', params);
      await until('the call', () => backend.waiting === 1);
      backend.release();
      expect((await call).answer.result).toBeDefined();
    }
    await until('all progress', () => reported().length >= 60);
    expect(reported()).toEqual(Array.from({ length: 60 }, (_, at) => `mine ${at + 1}`));
    stream.close();
  });
});
