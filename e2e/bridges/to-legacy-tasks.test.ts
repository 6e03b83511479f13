import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serveCoreTasks } from '../fakes/tasks-server/serve-core-tasks.ts';
import { modernRequest, openStream, sendModern, type Reply, type Rpc } from '../gateway/session-client.ts';
import { startProgram } from '../gateway/start-program.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, extensions: { [EXTENSION]: {} } } };

afterEach(closeAll);

const serve = async () => closing(await serveCoreTasks());
const clientOf = (url: string) => {
  const ask = (method: string, params: object) => sendModern(url, method, { ...params, _meta });
  return {
    ask,
    call: (name: string, args: object = {}) => ask('tools/call', { name, arguments: args }),
    of: (method: 'get' | 'update' | 'cancel', taskId: unknown, more: object = {}) =>
      ask(`tasks/${method}`, { taskId, ...more }),
  };
};
const idOf = ({ answer }: Reply) => answer.result?.taskId as string;
const stateOf = async (client: ReturnType<typeof clientOf>, taskId: string, status: string) => {
  let answer: Rpc = {};
  await until(`the status ${status}`, async () => {
    ({ answer } = await client.of('get', taskId));
    return answer.result?.status === status;
  });
  return answer.result;
};

describe('tasks of a server of 2025-11-25 for a client of 2026-07-28', () => {
  it('appear in server/discover', async () => {
    const gateway = await gatewayTo({ a: (await serve()).url });
    const { answer } = await sendModern(gateway.url, 'server/discover');
    expect(answer.result?.capabilities).toMatchObject({ extensions: { [EXTENSION]: {} } });
  });

  it('begin for clients with the extension, and end with an inline result', async () => {
    const server = await serve();
    const client = clientOf((await gatewayTo({ a: server.url })).url);
    const created = await client.call('a_compute', { n: 4, ms: 100 });
    const taskId = idOf(created);
    expect(created.answer.result).toMatchObject({ resultType: 'task', status: 'working', pollIntervalMs: 20 });
    expect(created.answer.result?.ttlMs).toEqual(expect.any(Number));
    const done = await stateOf(client, taskId, 'completed');
    expect(done).toMatchObject({
      resultType: 'complete',
      taskId,
      result: { resultType: 'complete', content: [{ type: 'text', text: '8' }] },
    });
    expect(done?.result).not.toHaveProperty('_meta');
    // A client without the extension waits for the result.
    const params = { name: 'a_compute', arguments: { n: 5 } };
    const { answer } = await sendModern((await gatewayTo({ a: server.url })).url, 'tools/call', params);
    expect(answer.result).toMatchObject({ resultType: 'complete', content: [{ text: '10' }] });
  });

  it('end by tasks/cancel, also a second time', async () => {
    const server = await serve();
    const client = clientOf((await gatewayTo({ a: server.url })).url);
    const taskId = idOf(await client.call('a_compute', { n: 4, ms: 60_000 }));
    for (let time = 0; time < 2; time += 1)
      expect((await client.of('cancel', taskId)).answer.result).toEqual({ resultType: 'complete' });
    expect((await client.of('get', taskId)).answer.result).toMatchObject({ status: 'cancelled' });
  });

  it('show the requests of the server as inputRequests, and take the answers by tasks/update', async () => {
    const client = clientOf((await gatewayTo({ a: (await serve()).url })).url);
    const taskId = idOf(await client.call('a_ask'));
    const asked = await stateOf(client, taskId, 'input_required');
    const requests = asked?.inputRequests as Record<string, object>;
    const [key = ''] = Object.keys(requests);
    expect(requests[key]).toMatchObject({ method: 'elicitation/create', params: { message: 'Your name?' } });
    expect((await client.of('get', taskId)).answer.result?.inputRequests).toEqual(requests);
    const inputResponses = { other: {}, [key]: { action: 'accept', content: { name: 'Ada' } } };
    expect((await client.of('update', taskId, { inputResponses })).answer.result).toEqual({ resultType: 'complete' });
    const done = await stateOf(client, taskId, 'completed');
    expect(done?.result).toMatchObject({ content: [{ text: 'Hello Ada' }] });
    expect((await client.of('update', taskId, { inputResponses })).answer.result).toEqual({ resultType: 'complete' });
  });

  it('refuse foreign ids as unknown', async () => {
    const [a, b] = [await serve(), await serve()];
    const client = clientOf((await gatewayTo({ a: a.url, b: b.url })).url);
    const other = clientOf((await gatewayTo({ a: a.url })).url);
    const taskId = idOf(await client.call('b_compute', { n: 1, ms: 60_000 }));
    for (const id of ['x', `${taskId}x`]) expect((await client.of('get', id)).answer.error?.code).toBe(-32602);
    expect((await other.of('get', taskId)).answer.error?.code).toBe(-32602);
    expect(a.methods.filter((method) => method.startsWith('tasks/'))).toEqual([]);
  });

  it('outlive a restart of the gateway with its secret', async () => {
    const { url } = await serve();
    const files = { sealing: 'ab'.repeat(32) };
    const start = () => gatewayTo({ a: url }, { sealing_secret_files: ['sealing'] }, { files });
    const before = await start();
    const taskId = idOf(await clientOf(before.url).call('a_compute', { n: 3, ms: 500 }));
    const asking = idOf(await clientOf(before.url).call('a_ask'));
    await before.runtime.stop();
    const client = clientOf((await start()).url);
    expect((await stateOf(client, taskId, 'completed'))?.result).toMatchObject({ content: [{ text: '6' }] });
    expect((await stateOf(client, asking, 'input_required'))?.inputRequests).toMatchObject({});
  });

  it('end with -32602 once the server has lost its sessions, and with its name while it is away', async () => {
    const server = await serve();
    const port = Number(new URL(server.url).port);
    const client = clientOf((await gatewayTo({ a: server.url })).url);
    const taskId = idOf(await client.call('a_compute', { n: 3, ms: 60_000 }));
    await server.close();
    expect((await client.of('get', taskId)).answer.error).toMatchObject({ code: -32603, data: { backend: 'a' } });
    closing(await serveCoreTasks(port));
    await until('the server', async () => (await client.of('get', taskId)).answer.error?.code === -32602);
    const { error } = (await client.of('get', taskId)).answer;
    expect(error?.message).toBe('The backend no longer knows the task, or its session');
  });

  it('notify subscribers', async () => {
    const [a, b] = [await serve(), await serve()];
    const gateway = await gatewayTo({ a: a.url, b: b.url });
    const client = clientOf(gateway.url);
    const ids = [
      idOf(await client.call('a_compute', { n: 1, ms: 800 })),
      idOf(await client.call('b_compute', { n: 2, ms: 800 })),
    ];
    const { body, headers } = modernRequest('subscriptions/listen', { notifications: { taskIds: ids }, _meta });
    const stream = closing(await openStream(gateway.url, headers, body));
    const acknowledged = await stream.waitFor(({ method }) => method === 'notifications/subscriptions/acknowledged');
    expect(new Set((acknowledged.params?.notifications as { taskIds: string[] }).taskIds)).toEqual(new Set(ids));
    for (const taskId of ids) {
      const isEnd = ({ params }: Rpc) => params?.taskId === taskId && params.status === 'completed';
      expect((await stream.waitFor(isEnd)).params).toMatchObject({ result: { resultType: 'complete' } });
    }
  });

  it('serve the client of ext-tasks with input', async () => {
    const gateway = await gatewayTo({ a: (await serve()).url });
    const program = join(import.meta.dirname, '../sdk-servers/ext-tasks-client.ts');
    const args = [program, gateway.url, '2026-07-28', 'a_ask', '{}'];
    const outcome = await startProgram(process.execPath, args).firstJson(20_000);
    expect(outcome).toMatchObject({ kind: 'task', status: 'completed' });
    expect(JSON.stringify(outcome)).toContain('Hello yes');
  });
});
