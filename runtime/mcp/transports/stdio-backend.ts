import type { StdioBackend as StdioConfig } from '#crds/run-config/backend';
import { ChannelBackend, type ChannelMode } from './channel-backend.ts';
import { logStderr } from './observe-process.ts';
import { PerSessionChannels } from './per-session-channels.ts';
import { ProcessForAll } from './process-for-all.ts';
import type { Backoff } from './crash-backoff.ts';
import type { StdioBackendOptions } from './stdio-backend-options.ts';
import { StdioConnection } from './stdio-connection.ts';

export type StdioBackend = ChannelBackend<StdioConfig>;

/** Milliseconds. Brief: a process costs memory, and the next call starts another. */
const PROCESS_IDLE = 600_000;
/** Idle milliseconds after which a process may be ended for another session. */
const GIVE_WAY = 60_000;

export const defaultBackoff: Backoff = { first: 500, last: 30_000, healthy: 60_000 };

export function createStdioBackend(options: StdioBackendOptions): StdioBackend {
  const isShared = options.config.stdio_process === 'shared';
  return new ChannelBackend(options, isShared ? new ProcessForAll(options) : processPerSession(options));
}

function processPerSession(options: StdioBackendOptions): ChannelMode {
  const { config, env, log, secrets, maxResponseBytes, sessions } = options;
  return new PerSessionChannels({
    name: config.name,
    max: Math.min(sessions.maxProcesses, sessions.max),
    idle: Math.min(sessions.idle, PROCESS_IDLE),
    giveWay: GIVE_WAY,
    backoff: options.backoff,
    now: options.now,
    log,
    onListChanged: options.onListChanged,
    open: (_exchange, events) =>
      new StdioConnection({
        name: config.name,
        command: config.command,
        args: config.args,
        env,
        cwd: config.working_directory,
        maxLineBytes: maxResponseBytes,
        onStderr: logStderr(config.name, secrets, log).take,
        bufferedBytes: options.bufferedBytes,
        ...events,
      }),
  });
}
