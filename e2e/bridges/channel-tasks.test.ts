import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serveCoreTasks } from '../fakes/tasks-server/serve-core-tasks.ts';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { openStream, send, SessionClient, sendModern, type Rpc } from '../gateway/session-client.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';

const MAIN = join(import.meta.dirname, '../fakes/tasks-server/tasks-main.ts');
const _meta = {
  'io.modelcontextprotocol/clientCapabilities': {
    elicitation: {},
    extensions: { 'io.modelcontextprotocol/tasks': {} },
  },
};
const BACKENDS = {
  'SSE, 2025-11-25': ['sse', '2025-11-25'],
  'a process for each session, 2025-11-25': ['perSession', '2025-11-25'],
  'a process for all, 2025-11-25': ['shared', '2025-11-25'],
  'a process for each session, 2026-07-28': ['perSession', '2026-07-28'],
  'a process for all, 2026-07-28': ['shared', '2026-07-28'],
} as const;

afterEach(closeAll);

async function backendOf([kind, revision]: (typeof BACKENDS)[keyof typeof BACKENDS]) {
  if (kind === 'sse') {
    const url = closing(await serveCoreTasks()).url.replace('/mcp', '/sse');
    return { name: 'a', transport: 'sse', url } as const;
  }
  const program = { command: process.execPath, args: [MAIN, revision] };
  return { name: 'a', transport: 'stdio', ...program, stdio_process: kind } as const;
}

describe.each(Object.keys(BACKENDS) as (keyof typeof BACKENDS)[])('a backend with tasks over %s', (name) => {
  const isCore = BACKENDS[name][1] === '2025-11-25';
  // A process for all clients asks none of them.
  const asks = BACKENDS[name][0] !== 'shared' || !isCore;
  const start = async () => {
    const backends: GatewayConfig['backends'] = [await backendOf(BACKENDS[name])];
    return closing(await serveGateway({ incoming: { type: 'anonymous' }, backends }));
  };
  const tool = isCore ? 'a_compute' : 'a_slow_compute';
  const args = (ms: number) => ({ n: 4, ms, seconds: ms / 1000, label: '8' });
  const asking = isCore ? 'a_ask' : 'a_confirm_delete';

  it('serves tasks to a client of 2025-11-25', async () => {
    const client = await SessionClient.open((await start()).url, {}, { elicitation: {} });
    await client.toolNames();
    const create = async (of: string, given: object) => {
      const { answer } = await client.request('tools/call', { name: of, arguments: given, task: { ttl: 60_000 } });
      return (answer.result?.task as { taskId: string }).taskId;
    };
    const taskId = await create(tool, args(200));
    const { result } = (await client.request('tasks/result', { taskId })).answer;
    expect(JSON.stringify(result?.content)).toContain('8');
    const long = await create(tool, args(60_000));
    expect((await client.request('tasks/cancel', { taskId: long })).answer.result).toMatchObject({
      status: 'cancelled',
    });
    if (!asks) return;
    const waiting = await create(asking, { filename: 'x' });
    const body = client.message('tasks/result', { taskId: waiting });
    const stream = closing(await openStream(client.url, client.headers, body));
    const { id } = await stream.waitFor(({ method }) => method === 'elicitation/create');
    const answer = { jsonrpc: '2.0', id, result: { action: 'accept', content: { name: 'Ada' } } };
    await send(client.url, 'POST', client.headers, JSON.stringify(answer));
    const done = await stream.waitFor(({ result: given }) => given !== undefined);
    expect(JSON.stringify(done.result)).toMatch(/Hello Ada|deleted x/);
  }, 40_000);

  it('serves tasks to a client of 2026-07-28', async () => {
    const { url } = await start();
    const ask = (method: string, params: object) => sendModern(url, method, { ...params, _meta });
    const create = async (of: string, given: object) =>
      (await ask('tools/call', { name: of, arguments: given })).answer.result?.taskId as string;
    const reach = async (taskId: string, status: string) => {
      let last: Rpc['result'] = {};
      await until(`the status ${status}`, async () => {
        last = (await ask('tasks/get', { taskId })).answer.result ?? {};
        return last.status === status;
      });
      return last;
    };
    const done = await reach(await create(tool, args(200)), 'completed');
    expect(JSON.stringify(done.result)).toContain('8');
    const long = await create(tool, args(60_000));
    expect((await ask('tasks/cancel', { taskId: long })).answer.result).toEqual({ resultType: 'complete' });
    await reach(long, 'cancelled');
    if (!asks) return;
    const waiting = await create(asking, { filename: 'x' });
    const { inputRequests } = await reach(waiting, 'input_required');
    const [key = ''] = Object.keys(inputRequests as object);
    const inputResponses = { [key]: { action: 'accept', content: { name: 'Ada' } } };
    await ask('tasks/update', { taskId: waiting, inputResponses });
    expect(JSON.stringify(await reach(waiting, 'completed'))).toMatch(/Hello Ada|deleted x/);
  }, 40_000);
});
