import { until } from '../gateway/until.ts';
import { type RedisServer, startRedis } from './start-redis.ts';

const MASTER_NAME = 'vmcp-test';
const SENTINELS = 3;
/** Milliseconds of silence after which the Sentinels replace a master. */
const DOWN_AFTER_MS = 1_000;

/** A master, its replica, and three Sentinels that watch them. */
export interface RedisGroup {
  readonly masterName: string;
  /** host:port of each Sentinel. */
  readonly sentinels: readonly string[];
  readonly sentinelServers: readonly RedisServer[];
  /** The servers in their roles at the start, before any failover. */
  readonly master: RedisServer;
  readonly replica: RedisServer;
  /** Cuts the replica from the running master. The Sentinels tolerate that for some seconds. */
  cutReplication(): Promise<void>;
  /** Reconnects the replica, which catches up. */
  joinReplication(): Promise<void>;
  /** Returns when the replica has all the master's data. */
  replicated(): Promise<void>;
  /** Kills the master. The Sentinels notice by themselves. */
  killMaster(): Promise<void>;
  /** Returns when the Sentinels name the former replica as the master. */
  failedOver(): Promise<void>;
  stop(): Promise<void>;
}

export async function startRedisGroup(): Promise<RedisGroup> {
  const master = await startRedis({ lines: ['repl-diskless-sync-delay 0', 'repl-ping-replica-period 1'] });
  const replica = await startRedis({ lines: [`replicaof 127.0.0.1 ${master.port}`] });
  // Waits before the Sentinels start, because they query a replica only every ten seconds.
  await until('replication', () => isReplicated(master, replica));
  const watch = [
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${master.port} 2`,
    `sentinel down-after-milliseconds ${MASTER_NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${MASTER_NAME} 5000`,
  ];
  const sentinelServers = await Promise.all(
    Array.from({ length: SENTINELS }, () => startRedis({ program: 'redis-sentinel', lines: watch })),
  );
  const group = groupOf(master, replica, sentinelServers);
  await Promise.all(
    sentinelServers.map((sentinel) =>
      until('Sentinels that know each other and the replica', () => knowsAll(sentinel)),
    ),
  );
  return group;
}

function groupOf(master: RedisServer, replica: RedisServer, sentinelServers: readonly RedisServer[]): RedisGroup {
  return {
    masterName: MASTER_NAME,
    sentinels: sentinelServers.map(({ address }) => address),
    sentinelServers,
    master,
    replica,
    // No server listens on port 1.
    async cutReplication() {
      await replica.command('REPLICAOF', '127.0.0.1', '1');
    },
    async joinReplication() {
      await replica.command('REPLICAOF', '127.0.0.1', String(master.port));
      await this.replicated();
    },
    replicated: () => until('replication', () => isReplicated(master, replica)),
    killMaster: () => master.kill(),
    failedOver: () => until('a new master', () => allName(sentinelServers, replica.port)),
    async stop() {
      await Promise.all([master, replica, ...sentinelServers].map((server) => server.stop()));
    },
  };
}

async function isReplicated(master: RedisServer, replica: RedisServer): Promise<boolean> {
  return (await offsetOf(replica)) === (await offsetOf(master));
}

/** Returns the server's offset in the stream of writes; undefined: the server gets no writes. */
async function offsetOf(server: RedisServer): Promise<string> {
  const info = String(await server.command('INFO', 'replication'));
  const connected = /^(connected_slaves:[1-9]|master_link_status:up)/m.test(info);
  const offset = /^(?:slave_repl_offset|master_repl_offset):(\d+)/m.exec(info)?.[1];
  if (!connected || offset === undefined) throw new Error('not connected');
  return offset;
}

async function knowsAll(sentinel: RedisServer): Promise<boolean> {
  const quorum = String(await sentinel.command('SENTINEL', 'CKQUORUM', MASTER_NAME));
  const state = String(await sentinel.command('INFO', 'sentinel'));
  return quorum.startsWith('OK 3') && /status=ok,address=[^,]+,slaves=1,sentinels=3/.test(state);
}

async function allName(sentinels: readonly RedisServer[], port: number): Promise<boolean> {
  const named = await Promise.all(
    sentinels.map((sentinel) => sentinel.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME)),
  );
  return named.every((address) => Array.isArray(address) && Number(address[1]) === port);
}
