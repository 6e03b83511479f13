import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../gateway/find-free-port.ts';
import { startGateway, type Gateway } from '../gateway/start-gateway.ts';
import { serveRoundRobin, type RoundRobin } from '../redis/round-robin.ts';
import { startRedis } from '../redis/start-redis.ts';
import { checkLeftProcesses } from './left-processes.ts';
import { startMembers, type Member } from './members.ts';
import { CANCELS_PER_SECOND, KILL_EVERY_MS, LIMITS, LASTING, untilAllAnswer, type SoakOptions } from './one-gateway.ts';
import { ANY, Outcomes } from './outcomes.ts';
import { checkCalls, type Checks } from './report.ts';
import { startTraffic } from './traffic.ts';

const REPLICAS = 2;
const DOWN_MS = 3_000;

interface Replica {
  killAndRestart(): Promise<void>;
  stop(): Promise<void>;
}

/** Runs two replicas with a Redis behind a proxy. Each is killed in turn, and its sessions continue at the other. */
export async function soakReplicas(checks: Checks, { durationMs, rate }: SoakOptions): Promise<void> {
  const part = 'two replicas';
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-soak-'));
  const redis = await startRedis();
  // A stdio member has one process at each replica, which a kill of the replica ends, too.
  const members = await startMembers('sessions', folder, ['steady']);
  const ports = await Promise.all(Array.from({ length: REPLICAS }, () => findFreePort()));
  const proxy = await serveRoundRobin(ports);
  const replicas = await startReplicas(members, ports, proxy, redis.address, folder);
  const outcomes = new Outcomes();
  try {
    await untilAllAnswer(proxy, members, 'old');
    const url = new URL(proxy.url);
    // A stream of 2024-11-05 belongs to one replica, and the proxy must route its messages there.
    const lasting = LASTING.filter((kind) => kind !== 'old-sse');
    const traffic = await startTraffic({
      ...{ url, members, outcomes, rate, abandons: true },
      lasting,
      cancelsPerSecond: CANCELS_PER_SECOND,
    });
    const end = performance.now() + durationMs;
    for (let turn = 0; performance.now() + KILL_EVERY_MS < end; turn += 1) {
      await sleep(KILL_EVERY_MS);
      // The outage of a kill ends at once: later calls go to the other replica.
      outcomes.beginOutage(ANY)();
      await replicas[turn % REPLICAS]?.killAndRestart();
    }
    await sleep(Math.max(5_000, end - performance.now()));
    await traffic.stop();
    checkCalls(checks, part, members, outcomes);
    checks.check(`${part}: both replicas answer`, proxy.answered.size === REPLICAS ? undefined : 'one does not');
  } finally {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await proxy.close();
    await Promise.all(members.map((member) => member.stop()));
    await redis.stop();
    await checkLeftProcesses(checks, part, folder);
    await rm(folder, { recursive: true, force: true });
  }
}

async function startReplicas(
  members: readonly Member[],
  ports: readonly number[],
  proxy: RoundRobin,
  addr: string,
  folder: string,
): Promise<Replica[]> {
  const sealing = join(folder, 'sealing');
  await writeFile(sealing, randomBytes(32).toString('hex'));
  const start = (port: number): Promise<Gateway> =>
    startGateway({
      incoming: { type: 'anonymous' },
      backends: members.map(({ backend }) => backend),
      proxy_mode: 'sse',
      ...LIMITS,
      // A restarted replica reopens all sessions at the SSE backend at the same time; no member hangs here.
      limits: { ...LIMITS.limits, list_deadline: '30s' },
      session_storage: { type: 'redis', redis: { addr, key_prefix: 'vmcp:soak/gateway:' } },
      sealing_secret_files: [sealing],
      resource_url: proxy.url,
      listen: { port },
    });
  return Promise.all(
    ports.map(async (port) => {
      let gateway = await start(port);
      return {
        async killAndRestart() {
          process.kill(gateway.pid, 'SIGKILL');
          await gateway.ended;
          await sleep(DOWN_MS);
          gateway = await start(port);
        },
        stop: () => gateway.stop(),
      };
    }),
  );
}
