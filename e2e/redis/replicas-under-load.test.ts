import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { SessionClient, type Reply } from '../gateway/session-client.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { startGateway, type Gateway } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo } from '../relay/gateway-to.ts';
import { describeWithRedis } from './redis-programs.ts';
import { sharedIn } from './replicas.ts';
import { serveRoundRobin, type RoundRobin } from './round-robin.ts';
import { startRedisGroup } from './start-redis-group.ts';
import { startRedis } from './start-redis.ts';

const SESSIONS = 40;
const PAUSE_MS = 10;

afterEach(closeAll);

/** Processes that serve one server at fixed ports, and the proxy in front of them. */
interface Replicas {
  readonly proxy: RoundRobin;
  start(nr: number): Promise<void>;
  /** Sends SIGKILL, so the process sends no message. */
  kill(nr: number): Promise<void>;
  /** Ends a process as a pod ends: it leaves its Service first, then gets SIGTERM. */
  stop(nr: number): Promise<number | null>;
}

async function startReplicas(count: number, redis: Parameters<typeof sharedIn>[0]): Promise<Replicas> {
  const backend = closing(await servePlain({ tools: 2 }));
  const { settings, files } = sharedIn(redis);
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-replicas-'));
  closing({ close: () => rm(folder, { recursive: true, force: true }) });
  const sealing = join(folder, 'sealing');
  await writeFile(sealing, files.sealing ?? '');
  const free = await Promise.all(Array.from({ length: 2 * count }, () => findFreePort()));
  const [ports, privatePorts] = [free.slice(0, count), free.slice(count)];
  const proxy = closing(await serveRoundRobin(ports));
  const running: Gateway[] = [];
  const start = async (nr: number): Promise<void> => {
    const more = { ...settings, sealing_secret_files: [sealing], resource_url: proxy.url };
    const config = configTo({ one: backend.url }, more);
    running[nr] = await startGateway({ ...config, listen: { port: ports[nr], private_port: privatePorts[nr] } });
    proxy.join(ports[nr] ?? 0);
  };
  closing({ close: () => Promise.all(running.map((gateway) => gateway.stop())) });
  for (let nr = 0; nr < count; nr += 1) await start(nr);
  const signal = async (nr: number, name: NodeJS.Signals): Promise<number | null> => {
    const gateway = running[nr];
    if (!gateway) return null;
    process.kill(gateway.pid, name);
    return gateway.ended;
  };
  return {
    proxy,
    start,
    async kill(nr) {
      await signal(nr, 'SIGKILL');
    },
    stop(nr) {
      proxy.leave(ports[nr] ?? 0);
      return signal(nr, 'SIGTERM');
    },
  };
}

/** Clients that call continuously. */
interface Load {
  readonly calls: () => number;
  /** Waits until each session has made this many calls. */
  reached(each: number): Promise<void>;
  /** Failures other than cut connections. */
  readonly failed: string[];
  readonly cut: () => number;
  stop(): Promise<void>;
}

async function startLoad(url: string): Promise<Load> {
  const clients = await Promise.all(Array.from({ length: SESSIONS }, () => SessionClient.open(url)));
  // Three requests in a row reach each replica, so that all replicas know all sessions.
  for (const client of clients) for (let turn = 0; turn < 3; turn += 1) await client.request('ping');
  const failed: string[] = [];
  const state = { going: true, calls: 0, cut: 0 };
  const loop = async (client: SessionClient): Promise<void> => {
    while (state.going) {
      const reply = await client.call('one_tool_0', { text: 'x' });
      state.calls += 1;
      if (reply.status === 502) state.cut += 1;
      else if (reply.answer.result === undefined) failed.push(`${reply.status} ${reply.text}`);
      await sleep(PAUSE_MS);
    }
  };
  const done = Promise.all(clients.map(loop));
  // Stops the load if the test fails, too: otherwise the proxy's end would report each cut call.
  closing({ close: () => ((state.going = false), done) });
  return {
    calls: () => state.calls,
    reached: (each) => until(`${each} calls of each session`, () => state.calls > SESSIONS * each),
    failed,
    cut: () => state.cut,
    async stop() {
      state.going = false;
      await done;
    },
  };
}

/** Opens a new session as soon as the server accepts one. */
async function opened(url: string): Promise<SessionClient> {
  const clients: SessionClient[] = [];
  await until('a new session', async () => clients.push(await SessionClient.open(url)) > 0);
  const [late] = clients;
  if (!late) throw new Error('there is none');
  return late;
}

/** Returns the tools, or the answer in their place. A replica that has not found the new master yet answers 503 for an unknown session. */
async function listOnce(client: SessionClient): Promise<unknown> {
  const replies: Reply[] = [];
  await until('a replica that knows the session', async () => {
    const reply = await client.request('tools/list');
    replies.push(reply);
    return reply.status !== 503;
  });
  const last = replies.at(-1);
  return last?.answer.result?.tools ?? last?.text;
}

describeWithRedis('forty sessions under load on replicas behind a proxy', () => {
  it('lose only the calls that a kill cuts, while each replica is killed and started in turn', async () => {
    const redis = await startRedis();
    closing({ close: () => redis.stop() });
    const replicas = await startReplicas(3, { addr: redis.address });
    const load = await startLoad(replicas.proxy.url);
    for (let nr = 0; nr < 3; nr += 1) {
      await sleep(500);
      await replicas.kill(nr);
      await sleep(500);
      await replicas.start(nr);
    }
    await sleep(500);
    await load.reached(20);
    await load.stop();
    expect(load.failed).toEqual([]);
    expect(load.cut()).toBe(replicas.proxy.cut());
    // At most one call for each session at each killed replica.
    expect(load.cut()).toBeLessThanOrEqual(3 * SESSIONS);
    expect(replicas.proxy.answered.size).toBe(3);
  });

  it('lose no call while each replica is stopped and started in turn', async () => {
    const redis = await startRedis();
    closing({ close: () => redis.stop() });
    const replicas = await startReplicas(2, { addr: redis.address });
    const load = await startLoad(replicas.proxy.url);
    for (const nr of [0, 1]) {
      await sleep(300);
      expect(await replicas.stop(nr)).toBe(0);
      await replicas.start(nr);
    }
    await load.reached(20);
    await load.stop();
    expect(load.failed).toEqual([]);
    expect(load.cut()).toBe(0);
  });

  it('continue while the Redis master dies; only new sessions get 503 until the failover', async () => {
    const group = await startRedisGroup();
    closing({ close: () => group.stop() });
    const sentinel_config = { master_name: group.masterName, sentinel_addrs: [...group.sentinels] };
    const replicas = await startReplicas(2, { sentinel_config });
    const load = await startLoad(replicas.proxy.url);
    await sleep(500);
    const before = load.calls() / SESSIONS;
    await group.replicated();
    await group.killMaster();
    await sleep(300);
    await expect(SessionClient.open(replicas.proxy.url)).rejects.toThrow(/503/);
    await group.failedOver();
    const late = await opened(replicas.proxy.url);
    for (let turn = 0; turn < 4; turn += 1) expect(await listOnce(late)).toHaveLength(2);
    await load.reached(before + 20);
    await load.stop();
    expect(load.failed).toEqual([]);
    expect(load.cut()).toBe(0);
  });

  it('look like one server to the SDK’s client: it lists, calls and ends at any replica', async () => {
    const redis = await startRedis();
    closing({ close: () => redis.stop() });
    const replicas = await startReplicas(2, { addr: redis.address });
    const client = new Client({ name: 'sdk', version: '1' });
    const transport = new StreamableHTTPClientTransport(new URL(replicas.proxy.url));
    await client.connect(transport);
    for (let turn = 0; turn < 6; turn += 1) {
      expect((await client.listTools()).tools).toHaveLength(2);
      const result = await client.callTool({ name: 'one_tool_1', arguments: { text: 'x' } });
      expect(result.content).toHaveLength(1);
    }
    await replicas.kill(0);
    for (let turn = 0; turn < 6; turn += 1) expect((await client.listTools()).tools).toHaveLength(2);
    await transport.terminateSession();
    await expect(client.listTools()).rejects.toThrow();
    await client.close();
  });
});
