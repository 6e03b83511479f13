import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { RUNTIME_ENVIRONMENT, RUNTIME_NODE_OPTIONS } from '#local/runtime-node-options';
import { findFreePort } from './find-free-port.ts';
import { startProgram } from './start-program.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** Milliseconds, long enough for a slow and busy machine. */
const READY_MS = 60_000;

export interface Gateway {
  url: string;
  /** Origin of the private port: health, metrics, status. */
  privateUrl: string;
  pid: number;
  /** Milliseconds from the start of the process until it was ready. */
  readyAfterMs: number;
  output: () => string;
  /** Resolves with the exit code when the process has ended. */
  ended: Promise<number | null>;
  stop: () => Promise<void>;
}

/** The configuration of a test. The helper adds names, ports and versions. */
export type GatewayConfig = Pick<RunConfigDocument, 'backends' | 'incoming'> & Partial<RunConfigDocument>;

export interface GatewayOptions {
  /** Words before the command, e.g. `['taskset', '-c', '0']`. */
  prefix?: string[];
  nodeOptions?: string[];
  env?: Record<string, string>;
  /** Seconds for running calls at the end. */
  drain?: number;
}

/** Returns the runtime's program: VMCP_RUNTIME, else the build, else the sources. */
export function runtimeProgram(): string {
  const named = process.env.VMCP_RUNTIME;
  if (named !== undefined) return named;
  const built = join(ROOT, 'dist', 'runtime.js');
  return existsSync(built) ? built : join(ROOT, 'runtime', 'main.ts');
}

/** Returns the document with free ports for those that the configuration omits. */
async function completed(
  config: GatewayConfig,
): Promise<{ document: RunConfigDocument; port: number; privatePort: number }> {
  const { port = await findFreePort(), private_port: privatePort = await findFreePort() } = config.listen ?? {};
  const document: RunConfigDocument = {
    schema_version: 'v0.1.0',
    server: { namespace: 'e2e', name: 'gateway', uid: 'e2e' },
    ...config,
    listen: { ...config.listen, port, private_port: privatePort },
  };
  return { document, port, privatePort };
}

/** Starts the runtime with this configuration, and waits until it reports that it is ready. */
export async function startGateway(config: GatewayConfig, options: GatewayOptions = {}): Promise<Gateway> {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-e2e-'));
  const { document, port, privatePort } = await completed(config);
  const file = join(folder, 'run-config.yaml');
  await writeFile(file, JSON.stringify(document));
  const words = [...(options.prefix ?? []), process.execPath, ...RUNTIME_NODE_OPTIONS, ...(options.nodeOptions ?? [])];
  const [command = '', ...args] = [...words, runtimeProgram(), '--config', file, ...drainArguments(options)];
  const started = performance.now();
  const program = startProgram(command, args, { ...process.env, ...RUNTIME_ENVIRONMENT, ...options.env });
  const privateUrl = `http://127.0.0.1:${privatePort}`;
  const gateway: Gateway = {
    url: `http://127.0.0.1:${port}/mcp`,
    privateUrl,
    pid: program.pid,
    readyAfterMs: 0,
    output: program.output,
    ended: program.ended,
    async stop() {
      await program.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
  const deadline = started + READY_MS;
  const saysReady = () => program.output().includes('"message":"ready"');
  while (!saysReady() && !(await answersReady(privateUrl))) {
    if (program.exited() || performance.now() > deadline) {
      await gateway.stop();
      throw new Error(`the gateway did not become ready:\n${program.output()}`);
    }
    await sleep(5);
  }
  gateway.readyAfterMs = performance.now() - started;
  return gateway;
}

const drainArguments = ({ drain }: GatewayOptions): string[] => (drain === undefined ? [] : ['--drain', String(drain)]);

async function answersReady(origin: string): Promise<boolean> {
  try {
    const response = await fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(1_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
