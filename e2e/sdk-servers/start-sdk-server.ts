import { join } from 'node:path';
import { findFreePort } from '../gateway/find-free-port.ts';
import { startProgram } from '../gateway/start-program.ts';
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
  /** Kills it with SIGKILL, and waits until it has ended. */
  kill: () => Promise<void>;
  stop: () => Promise<void>;
}

/**
 * Returns the command of a server. A stdio backend of the gateway takes it as it is. The program of the Python SDK
 * knows no event store, no interval of keep-alives and no pid file.
 */
export function sdkServerCommand(
  sdk: Sdk,
  { transport, port = 0, json = false, eventStore = false, keepAliveMs, pidFile }: Partial<ServerOptions> = {},
): { command: string; args: string[] } {
  const args = [
    join(import.meta.dirname, `${sdk}-main.${sdk === 'python' ? 'py' : 'ts'}`),
    '--transport',
    transport ?? 'stdio',
    '--port',
    String(port),
    ...(json ? ['--json'] : []),
    ...(eventStore ? ['--event-store'] : []),
    ...(keepAliveMs === undefined ? [] : ['--keepalive-ms', String(keepAliveMs)]),
    ...(pidFile === undefined ? [] : ['--pid-file', pidFile]),
  ];
  return { command: sdk === 'python' ? PYTHON : process.execPath, args };
}

/**
 * Starts a server made with an official SDK as a process of its own, and waits until it listens.
 *
 * @param options `port` names the port, so that a killed server can be started where it was
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
