import { join } from 'node:path';
import { findFreePort } from '../gateway/find-free-port.ts';
import { startProgram } from '../gateway/start-program.ts';
import { bundleProgram } from './bundle-program.ts';
import { PYTHON } from './python-sdk.ts';
import type { ServerOptions } from './server-options.ts';

/** `old` is the TypeScript SDK's 1.x line, `new` its 2.x line, which serves both revisions. */
export type Sdk = 'old' | 'new' | 'python';

const START_DEADLINE_MS = 60_000;

export interface SdkServer {
  url: string;
  port: number;
  pid: number;
  output: () => string;
  exited: () => boolean;
  /** Kills the server with SIGKILL, and waits until it has ended. */
  kill: () => Promise<void>;
  stop: () => Promise<void>;
}

/**
 * Returns the command of a server, in the form of a stdio backend of the gateway. The Python SDK's program supports no event store,
 * keep-alive interval or pid file.
 */
export function sdkServerCommand(
  sdk: Sdk,
  {
    transport,
    port = 0,
    json = false,
    eventStore = false,
    modernOnly = false,
    keepAliveMs,
    pidFile,
  }: Partial<ServerOptions> = {},
): { command: string; args: string[] } {
  const flags: Record<string, boolean> = { json, 'event-store': eventStore, 'modern-only': modernOnly };
  const args = [
    sdk === 'python' ? join(import.meta.dirname, 'python-main.py') : bundleProgram(`${sdk}-main`),
    '--transport',
    transport ?? 'stdio',
    '--port',
    String(port),
    ...Object.keys(flags).flatMap((flag) => (flags[flag] ? [`--${flag}`] : [])),
    ...(keepAliveMs === undefined ? [] : ['--keepalive-ms', String(keepAliveMs)]),
    ...(pidFile === undefined ? [] : ['--pid-file', pidFile]),
  ];
  return { command: sdk === 'python' ? PYTHON : process.execPath, args };
}

/**
 * Starts a server made with an official SDK in a separate process, and waits until it listens.
 * @param options `port` restarts a killed server on its former port
 */
export async function startSdkServer(
  sdk: Sdk,
  options: Partial<ServerOptions> & { transport?: 'http' | 'sse' } = {},
): Promise<SdkServer> {
  const port = options.port ?? (await findFreePort());
  const { command, args } = sdkServerCommand(sdk, { transport: 'http', ...options, port });
  const program = startProgram(command, args);
  try {
    await program.firstJson(START_DEADLINE_MS);
  } catch (problem) {
    await program.stop();
    throw problem;
  }
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    pid: program.pid,
    output: program.output,
    exited: () => program.exited(),
    async kill() {
      if (!program.exited()) process.kill(program.pid, 'SIGKILL');
      await program.ended;
    },
    stop: () => program.stop(),
  };
}
