import { afterEach, describe, expect, it } from '@jest/globals';
import { serveCoreTasks } from '../fakes/tasks-server/serve-core-tasks.ts';
import { serveTasks } from '../fakes/tasks-server/serve-tasks.ts';
import { SessionClient, sendModern, type Headers } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { protectedGateway } from './protected-gateway.ts';

const _meta = {
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
};
const UNKNOWN = { code: -32602, message: 'Unknown task' };
const ALL = 'permit(principal, action, resource);';

afterEach(closeAll);

async function start() {
  const [core, modern] = [closing(await serveCoreTasks()), closing(await serveTasks())];
  const backends = [
    { name: 'core', transport: 'streamable-http' as const, url: core.url },
    { name: 'modern', transport: 'streamable-http' as const, url: modern.url },
  ];
  const configOf = (policy: string) => ({ backends, authz: { policies: [policy] } });
  const { gateway, bearer, incoming } = await protectedGateway({ config: configOf(ALL) });
  const asked = () =>
    [...core.methods, ...modern.requests.map(({ message }) => message.method)].filter((one) => one.startsWith('tasks/'))
      .length;
  const allow = (policy: string) => gateway.reconfigure({ incoming, ...configOf(policy) });
  return { core, modern, gateway, bearer, asked, allow };
}

const modernClient = (url: string, headers: Headers) => {
  const ask = (method: string, params: object) => sendModern(url, method, { ...params, _meta }, headers);
  return {
    get: async (taskId: string) => (await ask('tasks/get', { taskId })).answer,
    cancel: async (taskId: string) => (await ask('tasks/cancel', { taskId })).answer,
    create: async (n = 1) =>
      (await ask('tools/call', { name: 'core_compute', arguments: { n, ms: 60_000 } })).answer.result?.taskId as
        string | undefined,
  };
};
const createIn = async (session: SessionClient, name: string, args: object = { seconds: 60 }) => {
  const { answer } = await session.request('tools/call', { name, arguments: args, task: { ttl: 60_000 } });
  return (answer.result?.task as { taskId: string }).taskId;
};
const errorIn = async (session: SessionClient, method: string, taskId: string) =>
  (await session.request(method, { taskId })).answer.error;

describe('tasks across a bridge', () => {
  it('stay unknown to another principal, and to another session', async () => {
    const { gateway, bearer, asked } = await start();
    const [alice, bob] = [await bearer(), await bearer({ sub: 'bob' })];
    const taskId = (await modernClient(gateway.url, alice).create()) ?? '';
    const session = await SessionClient.open(gateway.url, alice);
    const [inSession, cached] = [
      await createIn(session, 'modern_slow_compute'),
      await createIn(session, 'modern_greet', { name: 'secret' }),
    ];
    const others = [await SessionClient.open(gateway.url, bob), await SessionClient.open(gateway.url, alice)];
    for (const other of others) await other.toolNames();
    const before = asked();
    for (const one of [taskId, inSession, cached])
      expect((await modernClient(gateway.url, bob).get(one)).error).toEqual(UNKNOWN);
    for (const other of others)
      for (const one of [taskId, inSession, cached])
        for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
          expect((await errorIn(other, method, one))?.code).toBe(-32602);
    expect((await others[0]?.request('tasks/list'))?.answer.result).toEqual({ tasks: [] });
    expect(asked()).toBe(before);
  });

  it('become unknown if a policy denies their tool after their creation', async () => {
    const { gateway, bearer, asked, allow } = await start();
    const alice = modernClient(gateway.url, await bearer());
    const session = await SessionClient.open(gateway.url, await bearer());
    const [taskId, inSession] = [(await alice.create()) ?? '', await createIn(session, 'modern_slow_compute')];
    await allow('permit(principal, action, resource == Tool::"modern_greet");');
    const before = asked();
    expect((await alice.get(taskId)).error).toEqual(UNKNOWN);
    expect((await alice.cancel(taskId)).error).toEqual(UNKNOWN);
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
      expect(await errorIn(session, method, inSession)).toEqual(UNKNOWN);
    expect((await session.request('tasks/list')).answer.result).toEqual({ tasks: [] });
    expect(asked()).toBe(before);
  });

  it('reject forged ids without a request to a backend', async () => {
    const { gateway, bearer, asked } = await start();
    const headers = await bearer();
    const alice = modernClient(gateway.url, headers);
    const session = await SessionClient.open(gateway.url, headers);
    const [taskId, inSession] = [(await alice.create()) ?? '', await createIn(session, 'modern_slow_compute')];
    const before = asked();
    const forged = ['["x","2025-11-25","session",null]', '["x","slow_compute"]', `${taskId}.`, taskId.toUpperCase()];
    for (const one of [...forged, inSession]) expect((await alice.get(one)).error).toEqual(UNKNOWN);
    for (const one of [...forged, taskId])
      expect((await errorIn(session, 'tasks/result', one))?.message).toBe('Unknown task');
    expect(asked()).toBe(before);
  });

  it('end above the limit of their principal, at both kinds of backends', async () => {
    const { core, modern, gateway, bearer } = await start();
    const headers = await bearer();
    const alice = modernClient(gateway.url, headers);
    const session = await SessionClient.open(gateway.url, headers);
    const made = await Promise.all(Array.from({ length: 130 }, (_, n) => alice.create(n)));
    expect(made.filter((taskId) => taskId !== undefined)).toHaveLength(100);
    const { answer } = await session.request('tools/call', {
      name: 'modern_slow_compute',
      arguments: { seconds: 60 },
      task: {},
    });
    expect(answer.error?.message).toMatch(/^Too many tasks are running/);
    await until('the ends', () => core.methods.filter((method) => method === 'tasks/cancel').length === 30);
    await until('the other end', () => [...modern.tasks.values()].every(({ status }) => status === 'cancelled'));
    const bob = modernClient(gateway.url, await bearer({ sub: 'bob' }));
    expect(await bob.create()).toEqual(expect.any(String));
  });
});
