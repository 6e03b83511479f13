import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { protectedGateway } from '../attacks/protected-gateway.ts';
import { serveTasks, type TasksServerOptions } from '../fakes/tasks-server/serve-tasks.ts';
import { modernRequest, openStream, send, sendModern, type Headers, type Reply } from '../gateway/session-client.ts';
import { startProgram } from '../gateway/start-program.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, extensions: { [EXTENSION]: {} } } };

afterEach(closeAll);

const tasksServer = async (options: TasksServerOptions = {}) => closing(await serveTasks(options));

/** A client of 2026-07-28 that declares tasks. */
const clientOf = (url: string, headers: Headers = {}) => {
  const ask = (method: string, params: object) => sendModern(url, method, { ...params, _meta }, headers);
  return {
    ask,
    call: (name: string, args: object = {}) => ask('tools/call', { name, arguments: args }),
    of: (method: 'get' | 'update' | 'cancel', taskId: unknown, more: object = {}) =>
      ask(`tasks/${method}`, { taskId, ...more }),
  };
};
const idOf = ({ answer }: Reply) => answer.result?.taskId as string;
const UNKNOWN = { code: -32602, message: 'Unknown task' };

describe('tasks of 2026-07-28', () => {
  it('appear in server/discover if a backend has them, with the value that clients expect', async () => {
    const [tasks, plain] = [await tasksServer(), await tasksServer({ hasNoTasks: true })];
    const offered = async (urls: Record<string, string>) => {
      const { answer } = await sendModern((await gatewayTo(urls)).url, 'server/discover');
      return (answer.result?.capabilities as { extensions?: object }).extensions;
    };
    expect(await offered({ a: plain.url, b: tasks.url })).toEqual({ [EXTENSION]: {} });
    expect(await offered({ a: plain.url })).toBeUndefined();
  });

  it('reach the backend that has created them, under ids of the gateway', async () => {
    const [first, second] = [await tasksServer(), await tasksServer()];
    const gateway = await gatewayTo({ first: first.url, second: second.url });
    const { call, of } = clientOf(gateway.url);
    const created = await call('second_confirm_delete', { filename: 'x' });
    const taskId = idOf(created);
    const [own] = [...second.tasks.keys()];
    expect(created.answer.result).toMatchObject({ resultType: 'task', status: 'input_required' });
    expect(taskId).toMatch(/^[\w.-]+$/);
    expect(created.text).not.toContain(own);
    const asked = await of('get', taskId);
    expect(asked.answer.result).toMatchObject({ resultType: 'complete', taskId, inputRequests: { confirm: {} } });
    const inputResponses = { confirm: { action: 'accept', content: { name: 'yes' } } };
    expect((await of('update', taskId, { inputResponses })).answer.result).toEqual({ resultType: 'complete' });
    const done = (await of('get', taskId)).answer.result;
    expect(done).toMatchObject({ taskId, status: 'completed', result: { resultType: 'complete' } });
    expect(JSON.stringify(done)).toContain('deleted x');
    const about = second.requests.filter(({ message }) => message.method.startsWith('tasks/'));
    expect(about.map(({ headers, message }) => [headers['mcp-name'], message.params.taskId])).toEqual(
      [1, 2, 3].map(() => [own, own]),
    );
    expect(first.requests.filter(({ message }) => message.method.startsWith('tasks/'))).toEqual([]);
  });

  it('end by tasks/cancel', async () => {
    const { url, tasks } = await tasksServer();
    const { call, of } = clientOf((await gatewayTo({ a: url })).url);
    const taskId = idOf(await call('a_slow_compute', { seconds: 60 }));
    expect((await of('cancel', taskId)).answer.result).toEqual({ resultType: 'complete' });
    expect((await of('get', taskId)).answer.result).toMatchObject({ status: 'cancelled' });
    expect([...tasks.values()]).toMatchObject([{ status: 'cancelled' }]);
  });

  it('need the declaration of the client, which is judged before the id', async () => {
    const { url, tasks } = await tasksServer({ isCareless: true });
    const gateway = await gatewayTo({ a: url });
    const missing = { code: -32021, data: { requiredCapabilities: { extensions: { [EXTENSION]: {} } } } };
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const { status, answer } = await sendModern(gateway.url, method, { taskId: 'x' });
      expect([status, answer.error]).toMatchObject([400, missing]);
    }
    const listen = { notifications: { taskIds: ['x'] } };
    expect((await sendModern(gateway.url, 'subscriptions/listen', listen)).answer.error).toMatchObject(missing);
    // The backend creates a task for a client that did not declare them, so no client could read its result.
    const refused = await sendModern(gateway.url, 'tools/call', { name: 'a_slow_compute', arguments: { seconds: 60 } });
    expect([refused.status, refused.answer.error]).toMatchObject([400, missing]);
    await until('the task is cancelled', () => [...tasks.values()].every(({ status }) => status === 'cancelled'));
  });

  it('have no other methods, and no other ids', async () => {
    const { url, requests } = await tasksServer();
    const gateway = await gatewayTo({ a: url });
    const { ask, call, of } = clientOf(gateway.url);
    const taskId = idOf(await call('a_slow_compute', { seconds: 60 }));
    for (const method of ['tasks/list', 'tasks/result']) {
      const { status, answer } = await ask(method, { taskId });
      expect([status, answer.error?.code]).toEqual([404, -32601]);
    }
    const seen = requests.length;
    const changed = `${taskId.slice(0, -2)}${taskId.endsWith('AA') ? 'BB' : 'AA'}`;
    for (const id of ['x', '', 'a.b.c', changed, `${taskId}=`, `${taskId}.x`])
      expect((await of('get', id)).answer.error).toEqual(UNKNOWN);
    expect((await of('get', 7)).answer.error?.code).toBe(-32020);
    const { body, headers } = modernRequest('tasks/get', { taskId, _meta });
    const mismatched = await send(gateway.url, 'POST', { ...headers, 'mcp-name': 'x' }, body);
    expect([mismatched.status, mismatched.answer.error?.code]).toEqual([400, -32020]);
    expect(requests).toHaveLength(seen);
  });

  it('outlive a restart of the gateway with its secret, and end with another one', async () => {
    const { url } = await tasksServer();
    const start = (sealing: string) =>
      gatewayTo({ a: url }, { sealing_secret_files: ['sealing'] }, { files: { sealing } });
    const [secret, other] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
    const before = await start(secret);
    const taskId = idOf(await clientOf(before.url).call('a_slow_compute', { seconds: 60 }));
    await before.runtime.stop();
    const after = clientOf((await start(secret)).url);
    expect((await after.of('get', taskId)).answer.result).toMatchObject({ taskId, status: 'working' });
    expect((await clientOf((await start(other)).url).of('get', taskId)).answer.error).toEqual(UNKNOWN);
  });

  it('belong to their principal, and to those who see their tool', async () => {
    const { url, requests } = await tasksServer();
    const backends = [{ name: 'a', transport: 'streamable-http' as const, url }];
    const configOf = (policy: string) => ({ backends, authz: { policies: [policy] } });
    const { gateway, bearer, incoming } = await protectedGateway({
      config: configOf('permit(principal, action, resource);'),
    });
    const alice = clientOf(gateway.url, await bearer());
    const taskId = idOf(await alice.call('a_slow_compute', { seconds: 60 }));
    expect((await alice.of('get', taskId)).answer.result).toMatchObject({ taskId });
    const seen = () => requests.filter(({ message }) => message.method.startsWith('tasks/')).length;
    const before = seen();
    const bob = clientOf(gateway.url, await bearer({ sub: 'bob' }));
    for (const method of ['get', 'update', 'cancel'] as const)
      expect((await bob.of(method, taskId)).answer.error).toEqual(UNKNOWN);
    await gateway.reconfigure({
      incoming,
      ...configOf('permit(principal, action, resource == Tool::"a_greet");'),
    });
    expect((await alice.of('get', taskId)).answer.error).toEqual(UNKNOWN);
    expect(seen()).toBe(before);
  });

  it('have a limit for each principal until they end', async () => {
    const { url, tasks } = await tasksServer({ ttlMs: null });
    const gateway = await gatewayTo({ a: url }, { limits: { sessions_per_principal: 2 } });
    const { call, of } = clientOf(gateway.url);
    const [one] = [await call('a_slow_compute', { seconds: 60 }), await call('a_slow_compute', { seconds: 60 })];
    const refused = await call('a_slow_compute', { seconds: 60 });
    expect(refused.answer.error?.message).toMatch(/^Too many tasks are running/);
    await until('the third is cancelled', () => [...tasks.values()][2]?.status === 'cancelled');
    await of('cancel', idOf(one));
    await of('get', idOf(one));
    expect((await call('a_slow_compute', { seconds: 60 })).answer.result).toMatchObject({ resultType: 'task' });
  });

  it('count in rate limits, and appear in audit events with their tool', async () => {
    const { url } = await tasksServer();
    const rate_limiting = { per_user: { max_tokens: 3, refill_period: '1h' } };
    const gateway = await gatewayTo({ a: url }, { rate_limiting, audit_config: { enabled: true } });
    const { call, of } = clientOf(gateway.url);
    const taskId = idOf(await call('a_slow_compute', { seconds: 60 }));
    const codes = [];
    for (let nr = 0; nr < 3; nr += 1) codes.push((await of('get', taskId)).answer.error?.code);
    expect(codes).toEqual([undefined, undefined, 429]);
    await until('the audit', () => gateway.log().includes('"type":"mcp_task"'));
    const event = gateway
      .log()
      .split('\n')
      .find((line) => line.includes('"type":"mcp_task"'));
    expect(event).toMatch(/"method":"tasks\/get".*"name":"a_slow_compute","backend":"a"/);
  });

  it('fail with a clear error while their backend is away, and once it is removed', async () => {
    const server = await tasksServer();
    const gateway = await gatewayTo({ a: server.url });
    const { call, of } = clientOf(gateway.url);
    const taskId = idOf(await call('a_slow_compute', { seconds: 60 }));
    await server.close();
    const { error } = (await of('get', taskId)).answer;
    expect([error?.code, error?.data]).toMatchObject([-32603, { backend: 'a' }]);
    await gateway.reconfigure({ incoming: { type: 'anonymous' }, backends: [] });
    expect((await of('get', taskId)).answer.error).toEqual(UNKNOWN);
  });

  it('notify subscribers of both backends under the ids of the gateway', async () => {
    const [first, second] = [await tasksServer(), await tasksServer()];
    const gateway = await gatewayTo({ first: first.url, second: second.url });
    const { call, of } = clientOf(gateway.url);
    const ids = [
      idOf(await call('first_slow_compute', { seconds: 60 })),
      idOf(await call('second_slow_compute', { seconds: 1, label: 'x' })),
    ];
    const { body, headers } = modernRequest('subscriptions/listen', {
      notifications: { taskIds: [...ids, 'unknown'] },
      _meta,
    });
    const stream = closing(await openStream(gateway.url, headers, body));
    const acknowledged = await stream.waitFor(({ method }) => method === 'notifications/subscriptions/acknowledged');
    expect(new Set((acknowledged.params?.notifications as { taskIds: string[] }).taskIds)).toEqual(new Set(ids));
    await of('cancel', ids[0]);
    const changed = (taskId: string | undefined) => stream.waitFor(({ params }) => params?.taskId === taskId);
    expect(await changed(ids[0])).toMatchObject({ method: 'notifications/tasks', params: { status: 'cancelled' } });
    const { params } = await changed(ids[1]);
    expect(params).toMatchObject({ status: 'completed', result: { resultType: 'complete' } });
    expect(params?._meta).toEqual({ 'io.modelcontextprotocol/subscriptionId': 1 });
  });

  it('serve the client of ext-tasks with input', async () => {
    const { url } = await tasksServer();
    const gateway = await gatewayTo({ a: url });
    const program = join(import.meta.dirname, '../sdk-servers/ext-tasks-client.ts');
    const args = [program, gateway.url, '2026-07-28', 'a_confirm_delete', '{"filename":"x"}'];
    const client = startProgram(process.execPath, args);
    const outcome = await client.firstJson(20_000);
    expect(outcome).toMatchObject({ kind: 'task', status: 'completed' });
    expect(JSON.stringify(outcome)).toContain('deleted x');
  });
});
