import type { SseBackend as SseConfig } from '#crds/run-config/backend';
import { createBreaker } from '#runtime/mcp/backends/breaker';
import { HttpBackend, type HttpBackendOptions } from '#runtime/mcp/backends/http-backend';
import type { Log } from '#runtime/telemetry/log';
import { ChannelBackend } from './channel-backend.ts';
import { PerSessionChannels } from './per-session-channels.ts';
import { SseChannel } from './sse-channel.ts';

export interface SseBackendOptions extends HttpBackendOptions {
  readonly config: SseConfig;
  readonly sessions: {
    readonly max: number;
    /** Milliseconds. */
    readonly idle: number;
  };
  /** Milliseconds in which a live server answers; default 30 s. */
  readonly pingDeadline?: number;
  readonly log: Log;
  /** `method`: that of the notification. */
  readonly onListChanged: (method: string) => void;
}

export type SseBackend = ChannelBackend<SseConfig>;

const PING_DEADLINE = 30_000;

export function createSseBackend(options: SseBackendOptions): SseBackend {
  const { config, concurrency, sessions, now, log, onListChanged, pingDeadline = PING_DEADLINE } = options;
  const http = new HttpBackend({
    ...options,
    // A call ends with its answer on the stream, and is counted there.
    breaker: createBreaker({ enabled: false, failureThreshold: 1, timeout: 0 }, now),
    concurrency: { ...concurrency, queue: concurrency.perBackend + 2 * concurrency.queue },
  });
  const mode = new PerSessionChannels({
    name: config.name,
    max: sessions.max,
    idle: sessions.idle,
    // One caller's credential must not delay other callers.
    backoff: undefined,
    now,
    log,
    onListChanged,
    open: ({ call }, events) => new SseChannel({ http, url: config.url, first: call, pingDeadline, ...events }),
  });
  return new ChannelBackend(options, mode, { carrier: http });
}
