import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { ServeOptions } from '../gateway/serve-gateway.ts';
import { sendModern } from '../gateway/session-client.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { serveLegacy, type RunTool } from '../bridges/serve-legacy.ts';
import { describeWithRedis } from './redis-programs.ts';
import { replicaOf, sharedIn } from './replicas.ts';
import { startRedis, type RedisServer } from './start-redis.ts';

afterEach(closeAll);

const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
const accepted = { action: 'accept', content: { name: 'Ada' } };

const question = { message: 'Name?' };
const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });

const tools: Record<string, RunTool> = {
  ask: async ({ ask }) => text((await ask('elicitation/create', question)).result),
  ask_twice: async ({ ask, send, message }) => {
    const first = await ask('elicitation/create', question);
    const { progressToken } = message.params?._meta as { progressToken: number };
    send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } });
    const second = await ask('elicitation/create', question);
    return text([first.result, second.result]);
  },
  fail_after: async ({ ask, response }) => {
    await ask('elicitation/create', question);
    response.destroy();
    return undefined;
  },
};

describeWithRedis('a call at a backend of older revisions that waits for input', () => {
  let redis: RedisServer | undefined;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());

  /** Starts replicas in front of one backend. `call` calls a tool at one of them. */
  async function start(options: ServeOptions = {}) {
    const backend = closing(await serveLegacy({ tools }));
    const shared = sharedIn({ addr: redis!.address });
    const replica = () => replicaOf(shared, { a: backend.url }, {}, options);
    const [here, there] = [await replica(), await replica()];
    const call = (at: { url: string }, name: string, more: { _meta?: object } & Record<string, unknown> = {}) =>
      sendModern(at.url, 'tools/call', {
        name: `a_${name}`,
        arguments: {},
        ...more,
        _meta: { ..._meta, ...more._meta },
      });
    return { backend, here, there, call };
  }

  it('continues with a retry at another replica, and runs once', async () => {
    const { backend, here, there, call } = await start();
    const { requestState } = (await call(here, 'ask')).answer.result ?? {};
    const retry = { requestState, inputResponses: { 'elicitation-1': accepted } };
    expect((await call(there, 'ask', retry)).answer.result).toMatchObject({
      resultType: 'complete',
      ...text(accepted),
    });
    expect((await call(there, 'ask', retry)).answer.result).toMatchObject(text(accepted));
    expect((await call(here, 'ask', retry)).answer.result).toMatchObject(text(accepted));
    expect(backend.count('tools/call')).toBe(1);
  });

  it('gets several rounds, and reports progress with the token of the retry', async () => {
    const { here, there, call } = await start();
    const first = (await call(here, 'ask_twice', { _meta: { progressToken: 'one' } })).answer.result;
    const second = await call(there, 'ask_twice', {
      requestState: first?.requestState,
      inputResponses: { 'elicitation-1': accepted },
      _meta: { progressToken: 'two' },
    });
    expect(second.messages[0]).toMatchObject({ params: { progressToken: 'two', progress: 1 } });
    expect(second.answer.result).toMatchObject({ resultType: 'input_required' });
    const { requestState } = second.answer.result ?? {};
    const third = await call(here, 'ask_twice', { requestState, inputResponses: { 'elicitation-2': accepted } });
    expect(third.answer.result).toMatchObject(text([accepted, accepted]));
  });

  it('fails at another replica as it fails at its own', async () => {
    const { here, there, call } = await start();
    const { requestState } = (await call(here, 'fail_after')).answer.result ?? {};
    const retry = { requestState, inputResponses: { 'elicitation-1': accepted } };
    const { status, answer } = await call(there, 'fail_after', retry);
    expect({ status, answer }).toMatchObject({
      status: 200,
      answer: { error: { code: -32603, data: { reason: 'reset' } } },
    });
  });

  it('keeps its replica from ending until the retry', async () => {
    const { backend, here, there, call } = await start({ drain: 12_000 });
    const { requestState } = (await call(here, 'ask')).answer.result ?? {};
    const closed = here.close();
    const retry = { requestState, inputResponses: { 'elicitation-1': accepted } };
    expect((await call(there, 'ask', retry)).answer.result).toMatchObject(text(accepted));
    await closed;
    expect(backend.count('tools/call')).toBe(1);
  });

  it('fails as lost if its replica ended, and does not run again', async () => {
    const { backend, here, there, call } = await start();
    const { requestState } = (await call(here, 'ask')).answer.result ?? {};
    await here.close();
    const retry = { requestState, inputResponses: { 'elicitation-1': accepted } };
    const { status, answer } = await call(there, 'ask', retry);
    expect({ status, answer }).toMatchObject({
      status: 200,
      answer: { error: { code: -32603, data: { reason: 'call_lost' } } },
    });
    expect(backend.count('tools/call')).toBe(1);
  });

  it('cannot be resumed with other arguments at another replica', async () => {
    const { backend, here, there, call } = await start();
    const { requestState } = (await call(here, 'ask')).answer.result ?? {};
    const retry = { requestState, inputResponses: { 'elicitation-1': accepted }, arguments: { a: 1 } };
    expect((await call(there, 'ask', retry)).answer.error?.code).toBe(-32602);
    expect(backend.count('tools/call')).toBe(1);
  });
});
