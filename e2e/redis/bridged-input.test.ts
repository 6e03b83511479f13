import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { sendModern } from '../gateway/session-client.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { serveLegacy } from '../bridges/serve-legacy.ts';
import { describeWithRedis } from './redis-programs.ts';
import { replicaOf, sharedIn } from './replicas.ts';
import { startRedis, type RedisServer } from './start-redis.ts';

afterEach(closeAll);

const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
const accepted = { action: 'accept', content: { name: 'Ada' } };

describeWithRedis('a call at a backend of older revisions that waits for input', () => {
  let redis: RedisServer | undefined;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());

  it('is named as lost at another replica, and runs once', async () => {
    const tools = {
      ask: async ({ ask }: { ask: (method: string, params: object) => Promise<{ result?: object }> }) => {
        const { result } = await ask('elicitation/create', { message: 'Name?' });
        return { content: [{ type: 'text', text: JSON.stringify(result) }] };
      },
    };
    const backend = closing(await serveLegacy({ tools }));
    const shared = sharedIn({ addr: redis!.address });
    const [here, there] = [await replicaOf(shared, { a: backend.url }), await replicaOf(shared, { a: backend.url })];
    const call = (url: string, more: object = {}) =>
      sendModern(url, 'tools/call', { name: 'a_ask', arguments: {}, _meta, ...more });
    const { requestState } = (await call(here.url)).answer.result ?? {};
    const retry = { requestState, inputResponses: { 'elicitation-1': accepted } };
    const { status, answer } = await call(there.url, retry);
    expect({ status, answer }).toMatchObject({
      status: 200,
      answer: { error: { code: -32603, data: { reason: 'call_lost' } } },
    });
    expect((await call(there.url, { ...retry, arguments: { a: 1 } })).answer.error?.code).toBe(-32602);
    expect((await call(here.url, retry)).answer.result).toMatchObject({ resultType: 'complete' });
    expect(backend.count('tools/call')).toBe(1);
  });
});
