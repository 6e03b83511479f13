import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../gateway/until.ts';
import { Redis } from 'ioredis';
import { type Program, startProgram } from '../gateway/start-program.ts';
import type { Certificates } from './make-certificates.ts';
import { isInstalled } from './is-installed.ts';
import { findFreePort } from '../gateway/find-free-port.ts';

const ATTEMPTS = 3;

export interface RedisServerOptions {
  /** Further lines of its configuration, as `user ann on >secret ~vmcp:* +@all`. */
  readonly lines?: readonly string[];
  /** With certificates, the server speaks only TLS. */
  readonly certificates?: Certificates;
  /** Absent: a free one. */
  readonly port?: number;
  readonly program?: 'redis-server' | 'redis-sentinel';
}

/** A separate process on a free port of 127.0.0.1, without persistence. */
export interface RedisServer {
  readonly port: number;
  readonly pid: number;
  /** host:port, in the form of configurations. */
  readonly address: string;
  /** Sends a command as the default user. */
  command(...words: string[]): Promise<unknown>;
  /** Stops the process like a hanging machine: connections stay open. */
  freeze(): void;
  thaw(): void;
  /** Kills the process at once, without a message to clients. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a Redis or a Sentinel. Returns when it answers. */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(options);
    } catch (error) {
      // Another process may have taken the port meanwhile.
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

async function startOnce(options: RedisServerOptions): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-redis-'));
  const port = options.port ?? (await findFreePort());
  const file = join(folder, 'redis.conf');
  writeFileSync(file, configuration(port, folder, options));
  const program = startProgram(...endingWithUs([options.program ?? 'redis-server', file]));
  const server = serverOf(program, port, folder, options.certificates);
  try {
    await until(
      `Redis on port ${port}`,
      async () => (await server.command('PING')) === 'PONG',
      () => program.exited(),
    );
    return server;
  } catch (error) {
    await server.stop();
    throw new Error(`redis-server did not start: ${program.output()}`, { cause: error });
  }
}

/**
 * Returns the command that starts a program. If the system supports it, the kernel ends the program with a killed test. The process is the
 * program itself.
 */
function endingWithUs([command = '', ...args]: string[]): [string, string[]] {
  if (!isInstalled('setpriv')) return [command, args];
  return ['setpriv', ['--pdeathsig', 'KILL', command, ...args]];
}

function configuration(
  port: number,
  folder: string,
  { lines = [], certificates, program }: RedisServerOptions,
): string {
  const listening = certificates
    ? [
        'port 0',
        `tls-port ${port}`,
        `tls-cert-file ${certificates.certFile}`,
        `tls-key-file ${certificates.keyFile}`,
        `tls-ca-cert-file ${certificates.caFile}`,
        'tls-auth-clients no',
      ]
    : [`port ${port}`];
  const data = program === 'redis-sentinel' ? [] : ['save ""', 'appendonly no', 'enable-debug-command local'];
  return ['bind 127.0.0.1', 'daemonize no', `dir ${folder}`, ...listening, ...data, ...lines, ''].join('\n');
}

function serverOf(program: Program, port: number, folder: string, certificates?: Certificates): RedisServer {
  const { pid } = program;
  const gone = async () => {
    await program.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const signal = (name: NodeJS.Signals) => {
    if (!program.exited()) process.kill(pid, name);
  };
  return {
    port,
    pid,
    address: `127.0.0.1:${port}`,
    command: (...words) => command(port, words, certificates),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    kill: async () => {
      signal('SIGKILL');
      await gone();
    },
    stop: async () => {
      signal('SIGCONT');
      await gone();
    },
  };
}

async function command(port: number, [name = '', ...values]: string[], certificates?: Certificates): Promise<unknown> {
  const redis = new Redis({
    port,
    host: '127.0.0.1',
    ...(certificates && { tls: { ca: certificates.ca } }),
    connectTimeout: 1_000,
    commandTimeout: 2_000,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    disableClientInfo: true,
  });
  // Each command reports the error to its own caller.
  redis.on('error', () => undefined);
  try {
    return await redis.call(name, ...values);
  } finally {
    redis.disconnect();
  }
}
