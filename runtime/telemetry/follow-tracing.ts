import type { ProxySettings } from '#crds/connections/proxy';
import type { RunConfig } from '#crds/run-config/run-config';
import type { DecodedMessage } from '#runtime/mcp/envelope/decode-request';
import type { SecretFiles } from '#runtime/secret-files';
import type { Trail } from '#runtime/trail';
import type { Log } from './log.ts';
import type { Tracing } from './request-trace.ts';
import type { SpanCounts } from './span-counts.ts';

export interface TracingDeps {
  readonly version: string;
  /** The environment of this process, read in main.ts. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly files: Pick<SecretFiles, 'read'>;
  readonly proxy: ProxySettings | undefined;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly counts: SpanCounts;
}

/** Traces as the configuration in force asks for them: most ask for none. */
export interface FollowedTracing {
  readonly begun: (trail: Trail, message: DecodedMessage) => void;
  readonly finished: (trail: Trail, milliseconds: number) => void;
  /** Makes what another configuration needs. @throws ConfigError, and then the former goes on */
  prepare(next: RunConfig): Promise<{ commit(): void; abandon(): void }>;
  close(): Promise<void>;
}

/** Milliseconds in which a request that was under way at a reload may end and still have its span. */
const GRACE = 60_000;

/** @throws ConfigError */
export async function followTracing(config: RunConfig, deps: TracingDeps): Promise<FollowedTracing> {
  let inForce = config;
  let tracing = await openTracing(config, deps);
  const former = new Set<Tracing>();
  const retire = (before: Tracing): void => {
    former.add(before);
    void before.close(GRACE).finally(() => former.delete(before));
  };
  return {
    begun(trail, message) {
      if (!tracing) return;
      trail.trace = tracing.begin(trail.req, message, trail.startedAt);
      trail.traceId = trail.trace?.id;
    },
    finished(trail, milliseconds) {
      if (trail.trace) trail.trace.finish(trail, milliseconds);
      else trail.traceId = tracing?.refused(trail, milliseconds);
    },
    async prepare(next) {
      const isSame = tracedBy(next) === tracedBy(inForce);
      const made = isSame ? tracing : await openTracing(next, deps);
      return {
        commit() {
          const before = tracing;
          tracing = made;
          inForce = next;
          if (!isSame && before) retire(before);
        },
        abandon() {
          if (!isSame) void made?.close(0);
        },
      };
    },
    close: async () => {
      await Promise.all([...former, ...(tracing ? [tracing] : [])].map((open) => open.close(0)));
    },
  };
}

/** What spans are made by. */
function tracedBy({ server, telemetry_config: settings }: RunConfig): string {
  return JSON.stringify([server, settings]);
}

/** Loaded where traces are on. @throws ConfigError */
async function openTracing(config: RunConfig, deps: TracingDeps): Promise<Tracing | undefined> {
  if (!config.telemetry_config.tracingEnabled) return undefined;
  const { createTracing } = await import('./tracing/create-tracing.ts');
  return createTracing(config, deps);
}
