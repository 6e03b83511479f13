import type { StdioBackend as StdioConfig } from '#crds/run-config/backend';
import type { ChannelEvents } from './channel.ts';
import { ChannelBackend } from './channel-backend.ts';
import { ModernProcesses } from './modern-processes.ts';
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
  const processes = processSettings(options);
  const modern = new ModernProcesses({ ...processes, isShared });
  const mode = isShared
    ? new ProcessForAll(options)
    : new PerSessionChannels({ ...processes, open: (_exchange, events) => processes.open(events) });
  return new ChannelBackend(options, mode, { modern });
}

function processSettings({
  config,
  env,
  secrets,
  maxResponseBytes,
  sessions,
  bufferedBytes,
  ...options
}: StdioBackendOptions) {
  const { now, log, backoff, onListChanged } = options;
  return {
    name: config.name,
    max: Math.min(sessions.maxProcesses, sessions.max),
    idle: Math.min(sessions.idle, PROCESS_IDLE),
    giveWay: GIVE_WAY,
    ...{ backoff, now, log, onListChanged },
    open: (events: ChannelEvents) =>
      new StdioConnection({
        name: config.name,
        command: config.command,
        args: config.args,
        env,
        cwd: config.working_directory,
        maxLineBytes: maxResponseBytes,
        onStderr: logStderr(config.name, secrets, log).take,
        bufferedBytes,
        ...events,
      }),
  };
}
