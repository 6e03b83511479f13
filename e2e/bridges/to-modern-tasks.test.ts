import { join } from 'node:path';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serveTasks, type TasksServerOptions } from '../fakes/tasks-server/serve-tasks.ts';
import { openStream, send, SessionClient, type Reply, type Rpc } from '../gateway/session-client.ts';
import { startProgram } from '../gateway/start-program.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import { ANSWERS, connectOldClient } from '../sdk-servers/connect-sdk-client.ts';

afterEach(closeAll);

const serve = async (options: TasksServerOptions = {}) => closing(await serveTasks(options));
const create = (client: SessionClient, name: string, args: object = {}) =>
  client.request('tools/call', { name, arguments: args, task: { ttl: 60_000 } });
const idOf = ({ answer }: Reply) => (answer.result?.task as { taskId: string }).taskId;
const isAnswer = ({ result, error }: Rpc) => result !== undefined || error !== undefined;
const isQuestion = ({ id, method }: Rpc) => id !== undefined && method !== undefined;
const accept = (client: SessionClient, id: Rpc['id']) =>
  send(
    client.url,
    'POST',
    client.headers,
    JSON.stringify({ jsonrpc: '2.0', id, result: { action: 'accept', content: { name: 'yes' } } }),
  );

describe('tasks of a server of 2026-07-28 for a client of 2025-11-25', () => {
  it('appear in initialize and tools', async () => {
    const gateway = await gatewayTo({ a: (await serve()).url });
    const client = await SessionClient.open(gateway.url);
    expect(client.initialized.result?.capabilities).toMatchObject({
      tasks: { cancel: {}, requests: { tools: { call: {} } } },
    });
    const tools = (await client.request('tools/list')).answer.result?.tools as object[];
    expect(tools[0]).toMatchObject({ execution: { taskSupport: 'optional' } });
    const plain = await gatewayTo({ a: (await serve({ hasNoTasks: true })).url });
    const other = await SessionClient.open(plain.url);
    expect(other.initialized.result?.capabilities).not.toHaveProperty('tasks');
    expect(JSON.stringify((await other.request('tools/list')).answer)).not.toContain('taskSupport');
  });

  it('begin by params.task, and end with a result', async () => {
    const server = await serve();
    const gateway = await gatewayTo({ a: server.url });
    const client = await SessionClient.open(gateway.url);
    const created = await create(client, 'a_slow_compute', { seconds: 0.3, label: 'x' });
    const taskId = idOf(created);
    expect(created.answer.result).toEqual({
      task: expect.objectContaining({ taskId, status: 'working', ttl: 60_000, pollInterval: 50 }),
    });
    const state = (await client.request('tasks/get', { taskId })).answer.result;
    expect(state).toMatchObject({ taskId, status: 'working' });
    expect(state).not.toHaveProperty('resultType');
    const result = (await client.request('tasks/result', { taskId })).answer.result;
    expect(result).toEqual({
      content: [{ type: 'text', text: 'computed x' }],
      _meta: { 'io.modelcontextprotocol/related-task': { taskId } },
    });
    expect((await client.request('tasks/get', { taskId })).answer.result).toMatchObject({ status: 'completed' });
    expect((await client.request('tasks/cancel', { taskId })).answer.error?.code).toBe(-32602);
  });

  it('end by tasks/cancel', async () => {
    const server = await serve();
    const client = await SessionClient.open((await gatewayTo({ a: server.url })).url);
    const taskId = idOf(await create(client, 'a_slow_compute', { seconds: 60 }));
    const cancelled = (await client.request('tasks/cancel', { taskId })).answer.result;
    expect(cancelled).toMatchObject({ taskId, status: 'cancelled' });
    expect([...server.tasks.values()]).toMatchObject([{ status: 'cancelled' }]);
    const { error } = (await client.request('tasks/result', { taskId })).answer;
    expect(error).toMatchObject({ code: -32603, message: 'The task was cancelled' });
  });

  it('report a failed tool and a failed request as failures', async () => {
    const client = await SessionClient.open((await gatewayTo({ a: (await serve()).url })).url);
    const failing = idOf(await create(client, 'a_failing_job'));
    expect((await client.request('tasks/result', { taskId: failing })).answer.result).toMatchObject({ isError: true });
    expect((await client.request('tasks/get', { taskId: failing })).answer.result).toMatchObject({ status: 'failed' });
    const broken = idOf(await create(client, 'a_protocol_error_job'));
    expect((await client.request('tasks/result', { taskId: broken })).answer.error).toMatchObject({
      code: -32603,
      message: 'it broke',
    });
  });

  it('ask the client for input on the stream of tasks/result', async () => {
    const gateway = await gatewayTo({ a: (await serve()).url });
    const client = await SessionClient.open(gateway.url, {}, { elicitation: {} });
    await client.toolNames();
    const taskId = idOf(await create(client, 'a_multi_input'));
    const stream = closing(
      await openStream(
        gateway.url,
        client.headers,
        client.message('tasks/result', { taskId, _meta: { progressToken: 7 } }),
      ),
    );
    const first = await stream.waitFor(isQuestion);
    const isSecond = (one: Rpc) => isQuestion(one) && one.id !== first.id;
    const second = await stream.waitFor(isSecond);
    for (const { id, params } of [first, second]) {
      expect(params?._meta).toMatchObject({ 'io.modelcontextprotocol/related-task': { taskId } });
      await accept(client, id);
    }
    const { result } = await stream.waitFor(isAnswer);
    expect(JSON.stringify(result)).toContain('first');
    const progress = stream.messages().filter(({ method }) => method === 'notifications/progress');
    expect(progress[0]?.params).toMatchObject({ progressToken: 7, progress: 1 });
    const states = stream.messages().filter(({ method }) => method === 'notifications/tasks/status');
    expect(states[0]?.params).toMatchObject({ taskId, status: 'input_required' });
  });

  it('hold the results of calls that the server answers at once', async () => {
    const gateway = await gatewayTo({ a: (await serve()).url });
    const client = await SessionClient.open(gateway.url);
    const taskId = idOf(await create(client, 'a_greet', { name: 'Ada' }));
    expect((await client.request('tasks/get', { taskId })).answer.result).toMatchObject({ status: 'completed' });
    for (let time = 0; time < 2; time += 1) {
      const { result } = (await client.request('tasks/result', { taskId })).answer;
      expect(result).toMatchObject({ content: [{ text: 'Hello, Ada!' }] });
    }
    expect((await client.request('tasks/cancel', { taskId })).answer.error?.code).toBe(-32602);
  });

  it('serve a client that asks for none with progress and the result', async () => {
    const server = await serve();
    const gateway = await gatewayTo({ a: server.url });
    const client = await SessionClient.open(gateway.url, {}, { elicitation: {} });
    const body = client.message('tools/call', { name: 'a_failing_job', arguments: {}, _meta: { progressToken: 'p' } });
    const stream = closing(await openStream(gateway.url, client.headers, body));
    expect((await stream.waitFor(isAnswer)).result).toMatchObject({ isError: true, content: [{ text: 'it failed' }] });
    const reports = stream.messages().filter(({ method }) => method === 'notifications/progress');
    expect(reports[0]?.params).toMatchObject({ progressToken: 'p', progress: 1 });
    // Without a declaration, this server answers at once.
    await client.call('a_slow_compute', { seconds: 60 });
    expect(server.tasks.size).toBe(1);
    const asking = client.message('tools/call', { name: 'a_confirm_delete', arguments: { filename: 'x' } });
    const asked = closing(await openStream(gateway.url, client.headers, asking));
    await accept(client, (await asked.waitFor(isQuestion)).id);
    expect(JSON.stringify((await asked.waitFor(isAnswer)).result)).toContain('deleted x');
  });

  it('end with the cancelled call of a client that asks for none', async () => {
    const server = await serve({ isCareless: true });
    const client = await SessionClient.open((await gatewayTo({ a: server.url })).url);
    const body = client.message('tools/call', { name: 'a_slow_compute', arguments: { seconds: 60 } });
    const call = send(client.url, 'POST', client.headers, body);
    await until('the task', () => server.tasks.size === 1);
    await client.notify('notifications/cancelled', { requestId: (JSON.parse(body) as Rpc).id });
    await until('its end', () => [...server.tasks.values()].every(({ status }) => status === 'cancelled'));
    await call;
  });

  it('end if the client cannot give the input', async () => {
    const server = await serve();
    const client = await SessionClient.open((await gatewayTo({ a: server.url })).url);
    const { result } = (await client.call('a_confirm_delete', { filename: 'x' })).answer;
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain('did not declare what elicitation/create needs');
    await until('its end', () => [...server.tasks.values()].every(({ status }) => status === 'cancelled'));
  });

  it('fail with a clear error once their server is away', async () => {
    const server = await serve();
    const client = await SessionClient.open((await gatewayTo({ a: server.url })).url);
    const taskId = idOf(await create(client, 'a_slow_compute', { seconds: 60 }));
    const waiting = client.request('tasks/result', { taskId });
    await server.close();
    expect((await waiting).answer.error).toMatchObject({ code: -32603, data: { backend: 'a' } });
    expect((await client.request('tasks/get', { taskId })).answer.error).toMatchObject({ data: { backend: 'a' } });
  });

  it('serve the client of the SDK, with elicitation', async () => {
    const gateway = await gatewayTo({ a: (await serve()).url });
    const client = closing(await connectOldClient(new URL(gateway.url), { answers: ANSWERS }));
    await client.listTools();
    const stream = (name: string, args: Record<string, unknown>) =>
      client.experimental.tasks.callToolStream({ name, arguments: args }, CallToolResultSchema);
    const last = async (name: string, args: Record<string, unknown>) => {
      const seen = [];
      for await (const message of stream(name, args)) seen.push(message);
      return seen.at(-1);
    };
    expect(await last('a_confirm_delete', { filename: 'x' })).toMatchObject({ type: 'result' });
    expect(await last('a_greet', { name: 'Ada' })).toMatchObject({ result: { content: [{ text: 'Hello, Ada!' }] } });
    expect(await client.callTool({ name: 'a_confirm_delete', arguments: { filename: 'y' } })).toMatchObject({
      content: [{ text: expect.stringContaining('deleted y') }],
    });
  });

  it('serve the client of ext-tasks', async () => {
    const gateway = await gatewayTo({ a: (await serve()).url });
    const program = join(import.meta.dirname, '../sdk-servers/ext-tasks-client.ts');
    const args = [program, gateway.url, '2025-11-25', 'a_slow_compute', '{"seconds":0.2,"label":"y"}'];
    const outcome = await startProgram(process.execPath, args).firstJson(20_000);
    expect(outcome).toMatchObject({ kind: 'task', status: 'completed' });
    expect(JSON.stringify(outcome)).toContain('computed y');
  });
});
