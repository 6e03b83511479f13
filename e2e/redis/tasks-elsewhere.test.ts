import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { serveCoreTasks } from '../fakes/tasks-server/serve-core-tasks.ts';
import { serveTasks } from '../fakes/tasks-server/serve-tasks.ts';
import { openStream, SessionClient, sendModern, type Reply } from '../gateway/session-client.ts';
import { startGateway, type Gateway } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo } from '../relay/gateway-to.ts';
import { describeWithRedis } from './redis-programs.ts';
import { requestAt, sharedIn } from './replicas.ts';
import { startRedis } from './start-redis.ts';

const _meta = {
  'io.modelcontextprotocol/clientCapabilities': {
    elicitation: {},
    extensions: { 'io.modelcontextprotocol/tasks': {} },
  },
};
const LONG = { seconds: 60, label: 'x', n: 4, ms: 60_000 };
const create = (client: SessionClient, name: string, args: object = LONG) =>
  client.request('tools/call', { name, arguments: args, task: { ttl: 60_000 } });
const idOf = ({ answer }: Reply) => (answer.result?.task as { taskId: string }).taskId;
const ask = ({ url }: Gateway, method: string, params: object) => sendModern(url, method, { ...params, _meta });
const createModern = async (at: Gateway, name: string, args: object = LONG) =>
  (await ask(at, 'tools/call', { name, arguments: args })).answer.result?.taskId as string;

describeWithRedis('tasks at two processes that share sessions', () => {
  let [here, there]: Gateway[] = [];

  beforeAll(async () => {
    const redis = closing(await startRedis().then((started) => ({ ...started, close: () => started.stop() })));
    const [modern, core] = [closing(await serveTasks()), closing(await serveCoreTasks())];
    const { settings, files } = sharedIn({ addr: redis.address });
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-tasks-'));
    closing({ close: () => rm(folder, { recursive: true, force: true }) });
    const sealing = join(folder, 'sealing');
    await writeFile(sealing, files.sealing ?? '');
    const config = configTo({ modern: modern.url, core: core.url }, { ...settings, sealing_secret_files: [sealing] });
    const start = async () => {
      const gateway = await startGateway(config);
      closing({ close: () => gateway.stop() });
      return gateway;
    };
    [here, there] = await Promise.all([start(), start()]);
  }, 120_000);
  afterAll(closeAll);

  const both = () => {
    if (!here || !there) throw new TypeError('not started');
    return { here, there };
  };

  it('notify the client whose stream is at the other process', async () => {
    const { here, there } = both();
    const client = await SessionClient.open(here.url);
    await client.toolNames();
    const stream = closing(await openStream(there.url, client.headers));
    await requestAt(there, client, 'tools/list');
    const taskId = idOf(await create(client, 'core_compute', { n: 2, ms: 1_500 }));
    const { params } = await stream.waitFor(({ method }) => method === 'notifications/tasks/status');
    expect(params).toMatchObject({ taskId });
  });

  it('appear in tasks/list of the other process', async () => {
    const { here, there } = both();
    const client = await SessionClient.open(here.url);
    const taskIds = [idOf(await create(client, 'core_compute')), idOf(await create(client, 'modern_slow_compute'))];
    const listed = async () => {
      const { result } = (await requestAt(there, client, 'tasks/list')).answer;
      return new Set((result?.tasks as { taskId: string }[]).map(({ taskId }) => taskId));
    };
    await until('both tasks', async () => (await listed()).size === 2);
    expect(await listed()).toEqual(new Set(taskIds));
  });

  it('keep a result that the server gave at once in one process', async () => {
    const { here, there } = both();
    const client = await SessionClient.open(here.url);
    const taskId = idOf(await create(client, 'modern_greet', { name: 'Ada' }));
    expect((await client.request('tasks/result', { taskId })).answer.result).toMatchObject({});
    const { error } = (await requestAt(there, client, 'tasks/result', { taskId })).answer;
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('another replica has it') });
  });

  it('continue at the other process after kill -9 of the one that created them', async () => {
    const { here, there } = both();
    const client = await SessionClient.open(here.url, {}, { elicitation: {} });
    const inSession = [idOf(await create(client, 'core_compute')), idOf(await create(client, 'modern_slow_compute'))];
    const ended = idOf(await create(client, 'core_compute', { n: 4, ms: 100 }));
    const free = [await createModern(here, 'core_compute'), await createModern(here, 'modern_slow_compute')];
    const asking = await createModern(here, 'core_ask', {});
    process.kill(here.pid, 'SIGKILL');
    await here.ended;
    for (const taskId of inSession)
      expect((await requestAt(there, client, 'tasks/get', { taskId })).answer.result).toMatchObject({
        taskId,
        status: 'working',
      });
    const { result } = (await requestAt(there, client, 'tasks/result', { taskId: ended })).answer;
    expect(result).toMatchObject({ content: [{ text: '8' }] });
    for (const taskId of free)
      expect((await ask(there, 'tasks/get', { taskId })).answer.result).toMatchObject({ taskId, status: 'working' });
    await until('the request for input', async () => {
      const { answer } = await ask(there, 'tasks/get', { taskId: asking });
      return answer.result?.status === 'input_required';
    });
    for (const taskId of free) await ask(there, 'tasks/cancel', { taskId });
    for (const taskId of free)
      expect((await ask(there, 'tasks/get', { taskId })).answer.result).toMatchObject({ status: 'cancelled' });
  });
});
