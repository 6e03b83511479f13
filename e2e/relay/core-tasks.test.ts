import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, it } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveCoreTasks } from '../fakes/tasks-server/serve-core-tasks.ts';
import { serveTasks } from '../fakes/tasks-server/serve-tasks.ts';
import { send, SessionClient, type Reply } from '../gateway/session-client.ts';
import { startProgram } from '../gateway/start-program.ts';
import { until } from '../gateway/until.ts';
import { ANSWERS, connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { closeAll, closing, configTo, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

const serve = async () => closing(await serveCoreTasks());
const create = (client: SessionClient, name: string, args: object = {}) =>
  client.request('tools/call', { name, arguments: args, task: { ttl: 60_000 } });
const idOf = ({ answer }: Reply) => (answer.result?.task as { taskId: string }).taskId;

describe('tasks of 2025-11-25', () => {
  it('appear in initialize and in tools of backends that have them', async () => {
    const gateway = await gatewayTo({ a: (await serve()).url });
    const client = await SessionClient.open(gateway.url);
    expect(client.initialized.result?.capabilities).toMatchObject({
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    });
    const tools = (await client.request('tools/list')).answer.result?.tools;
    expect(tools).toMatchObject([
      { execution: { taskSupport: 'optional' } },
      { execution: { taskSupport: 'required' } },
    ]);
    const older = await SessionClient.open(gateway.url, {}, {}, '2025-06-18');
    expect(older.initialized.result?.capabilities).not.toHaveProperty('tasks');
  });

  it('reach the backend and the session that have created them, under ids of the gateway', async () => {
    const [a, b] = [await serve(), await serve()];
    const gateway = await gatewayTo({ a: a.url, b: b.url });
    const client = await SessionClient.open(gateway.url);
    const created = await create(client, 'b_compute', { n: 2, ms: 50 });
    const taskId = idOf(created);
    expect(created.answer.result).toMatchObject({ task: { taskId, status: 'working', ttl: 60_000 } });
    expect((await client.request('tasks/get', { taskId })).answer.result).toMatchObject({ taskId });
    const result = (await client.request('tasks/result', { taskId })).answer.result;
    expect(result).toMatchObject({
      content: [{ text: '4' }],
      _meta: { 'io.modelcontextprotocol/related-task': { taskId } },
    });
    const other = idOf(await create(client, 'b_compute', { n: 2, ms: 60_000 }));
    const cancelled = (await client.request('tasks/cancel', { taskId: other })).answer.result;
    expect(cancelled).toMatchObject({ taskId: other, status: 'cancelled' });
    expect(a.methods.filter((method) => method.startsWith('tasks/'))).toEqual([]);
    const plain = await client.call('b_compute', { n: 3 });
    expect(plain.answer.result).toMatchObject({ content: [{ text: '6' }] });
  });

  it('belong to one session of one caller', async () => {
    const { url, methods } = await serve();
    const gateway = await gatewayTo({ a: url });
    const [client, other] = [await SessionClient.open(gateway.url), await SessionClient.open(gateway.url)];
    const taskId = idOf(await create(client, 'a_compute', { n: 2, ms: 60_000 }));
    await other.toolNames();
    const { error } = (await other.request('tasks/get', { taskId })).answer;
    expect(error).toMatchObject({
      code: -32602,
      message: expect.stringMatching(/^The task belongs to another session/),
    });
    expect((await client.request('tasks/get', { taskId: 'x' })).answer.error?.code).toBe(-32602);
    expect((await other.request('tasks/list')).answer.result).toEqual({ tasks: [] });
    expect(methods.filter((method) => method.startsWith('tasks/'))).toEqual([]);
  });

  it('do not reach a backend without them, and the call returns at once', async () => {
    const bodies: string[] = [];
    const intercept = (_request: unknown, _response: unknown, body: string) => {
      if (body.includes('tools/call')) bodies.push(body);
      return false;
    };
    const [plain, tasks] = [closing(await servePlain({ tools: 1, intercept })), await serve()];
    const gateway = await gatewayTo({ plain: plain.url, tasks: tasks.url });
    const client = await SessionClient.open(gateway.url);
    expect((await create(client, 'plain_tool_0', { text: 'x' })).answer.result).toHaveProperty('content');
    expect(bodies).toHaveLength(1);
    expect(bodies[0]).not.toContain('"task"');
  });

  it('appear in tasks/list from all backends of the session, page by page', async () => {
    const [a, b] = [await serve(), closing(await serveTasks())];
    const gateway = await gatewayTo({ a: a.url, b: b.url });
    const client = await SessionClient.open(gateway.url);
    const ids = [idOf(await create(client, 'b_slow_compute', { seconds: 60 }))];
    for (let nr = 0; nr < 30; nr += 1) ids.push(idOf(await create(client, 'a_compute', { n: nr, ms: 60_000 })));
    const listed: string[] = [];
    const pages: number[] = [];
    for (let cursor: unknown = undefined; pages.length === 0 || cursor !== undefined;) {
      const { result } = (await client.request('tasks/list', cursor === undefined ? {} : { cursor })).answer;
      const tasks = result?.tasks as { taskId: string; status: string }[];
      expect(tasks.every(({ status }) => status === 'working')).toBe(true);
      listed.push(...tasks.map(({ taskId }) => taskId));
      pages.push(tasks.length);
      cursor = result?.nextCursor;
    }
    expect([pages, new Set(listed)]).toEqual([[25, 6], new Set(ids)]);
    expect((await client.request('tasks/list', { cursor: '?' })).answer.error?.code).toBe(-32602);
  });

  it('leave tasks/list if the caller no longer sees their tool, and fail it if no backend answers', async () => {
    const [a, b] = [await serve(), await serve()];
    const config = (filter: string[]) =>
      configTo(
        { a: a.url, b: b.url },
        { aggregation: { conflict_resolution: 'prefix', tools: [{ workload: 'a', filter }] } },
      );
    const gateway = closing(await serveGateway(config(['compute', 'ask'])));
    const client = await SessionClient.open(gateway.url);
    const [first, second] = [
      idOf(await create(client, 'a_compute', { n: 1, ms: 60_000 })),
      idOf(await create(client, 'b_compute', { n: 1, ms: 60_000 })),
    ];
    const listed = async () => {
      const { result } = (await client.request('tasks/list')).answer;
      return (result?.tasks as { taskId: string }[]).map(({ taskId }) => taskId);
    };
    expect(new Set(await listed())).toEqual(new Set([first, second]));
    await gateway.reconfigure(config(['ask']));
    expect(await listed()).toEqual([second]);
    expect((await client.request('tasks/get', { taskId: first })).answer.error?.code).toBe(-32602);
    await b.close();
    expect((await client.request('tasks/list')).answer.error).toMatchObject({ code: -32603, data: { backend: 'b' } });
  });

  it('have a limit for each principal and are cancelled above it', async () => {
    const { url, methods } = await serve();
    const gateway = await gatewayTo({ a: url }, { limits: { sessions_per_principal: 1 } });
    const client = await SessionClient.open(gateway.url);
    await create(client, 'a_compute', { n: 2, ms: 60_000 });
    const refused = await create(client, 'a_compute', { n: 2, ms: 60_000 });
    expect(refused.answer.error?.message).toMatch(/^Too many tasks are running/);
    await until('the task is cancelled', () => methods.includes('tasks/cancel'));
  });

  it('leave the limit with their result', async () => {
    const { url } = await serve();
    const gateway = await gatewayTo({ a: url }, { limits: { sessions_per_principal: 1 } });
    const client = await SessionClient.open(gateway.url);
    for (let nr = 0; nr < 3; nr += 1) {
      const taskId = idOf(await create(client, 'a_compute', { n: nr }));
      expect((await client.request('tasks/result', { taskId })).answer.result).toMatchObject({});
    }
  });

  it('continue after a restart of the gateway if sessions are stored', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'vmcp-tasks-'));
    closing({ close: () => rmSync(folder, { recursive: true, force: true }) });
    const { url } = await serve();
    const files = { sealing: randomBytes(32).toString('hex') };
    const start = () =>
      gatewayTo(
        { a: url },
        {
          session_storage: { type: 'sqlite', file: join(folder, 'sessions.sqlite') },
          sealing_secret_files: ['sealing'],
        },
        { files },
      );
    const before = await start();
    const client = await SessionClient.open(before.url);
    const taskId = idOf(await create(client, 'a_compute', { n: 2, ms: 60_000 }));
    await before.runtime.stop();
    const after = await start();
    const reply = await send(after.url, 'POST', client.headers, client.message('tasks/get', { taskId }));
    expect(reply.answer.result).toMatchObject({ taskId, status: 'working' });
  });

  it('notify the client under the ids of the gateway', async () => {
    const { url } = await serve();
    const gateway = await gatewayTo({ a: url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    const stream = closing(await client.stream());
    const taskId = idOf(await create(client, 'a_compute', { n: 2, ms: 300 }));
    const { params } = await stream.waitFor(({ method }) => method === 'notifications/tasks/status');
    expect(params).toMatchObject({ taskId });
  });

  it('serve the client of the SDK, with elicitation on the stream of tasks/result', async () => {
    const { url } = await serve();
    const gateway = await gatewayTo({ a: url });
    const client = await connectOldClient(new URL(gateway.url), { answers: ANSWERS });
    closing(client);
    await client.listTools();
    const seen = [];
    const stream = client.experimental.tasks.callToolStream({ name: 'a_ask', arguments: {} }, CallToolResultSchema);
    for await (const message of stream) seen.push(message);
    expect(seen.at(-1)).toMatchObject({ type: 'result', result: { content: [{ text: 'Hello Ada' }] } });
  });

  it('serve the client of ext-tasks', async () => {
    const { url } = await serve();
    const gateway = await gatewayTo({ a: url });
    const program = join(import.meta.dirname, '../sdk-servers/ext-tasks-client.ts');
    const client = startProgram(process.execPath, [program, gateway.url, '2025-11-25', 'a_compute', '{"n":21}']);
    const outcome = await client.firstJson(20_000);
    expect(outcome).toMatchObject({ kind: 'task', status: 'completed' });
    expect(JSON.stringify(outcome)).toContain('42');
  });

  it('fail with a clear error while their backend is away', async () => {
    const server = await serve();
    const gateway = await gatewayTo({ a: server.url });
    const client = await SessionClient.open(gateway.url);
    const taskId = idOf(await create(client, 'a_compute', { n: 2, ms: 60_000 }));
    await server.close();
    const { error } = (await client.request('tasks/result', { taskId })).answer;
    expect([error?.code, error?.data]).toMatchObject([-32603, { backend: 'a' }]);
  });
});
