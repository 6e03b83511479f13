import { pathText } from '#crds/parts/explain';
import { findTracingProblems } from '#crds/run-config/find-problems';
import type { RunConfig } from '#crds/run-config/run-config';
import { ConfigError } from '#runtime/errors';
import type { DecodedMessage } from '#runtime/mcp/envelope/decode-request';
import type { RequestRecord } from '#runtime/request-record';
import type { TracingDeps, Tracing } from '#runtime/telemetry/tracing/create-tracing';

/** Traces as the current configuration requires; without tracing, it does nothing. */
export interface FollowedTracing {
  readonly begun: (requestRecord: RequestRecord, message: DecodedMessage) => void;
  readonly finished: (requestRecord: RequestRecord, milliseconds: number) => void;
  readonly warnings: readonly string[];
  prepare(next: RunConfig): Promise<{ commit(): void; abandon(): void }>;
  filesChanged(): Promise<void>;
  close(): Promise<void>;
}

/** Milliseconds in which requests that were pending at a reload may finish and still get their span. */
const GRACE = 60_000;

/** Follows the tracing configuration. A failure of tracing does not stop requests, as tracing protects nothing. */
export async function followTracing(config: RunConfig, deps: TracingDeps): Promise<FollowedTracing> {
  let activeConfig = config;
  let { tracing, problem } = await openTracing(config, deps);
  const former = new Set<Tracing>();
  const retire = (before: Tracing): void => {
    former.add(before);
    void before.close(GRACE).finally(() => former.delete(before));
  };
  return {
    begun(requestRecord, message) {
      if (!tracing) return;
      requestRecord.trace = tracing.begin(requestRecord.req, message, requestRecord.startedAt);
      requestRecord.traceId = requestRecord.trace?.id;
    },
    finished(requestRecord, milliseconds) {
      if (requestRecord.trace) requestRecord.trace.finish(requestRecord, milliseconds);
      else requestRecord.traceId = tracing?.refused(requestRecord, milliseconds);
    },
    get warnings() {
      return problem === undefined ? [] : [problem];
    },
    async prepare(next) {
      const isSame = problem === undefined && tracedBy(next) === tracedBy(activeConfig);
      const made = isSame ? { tracing, problem } : await openTracing(next, deps);
      return {
        commit() {
          const before = tracing;
          ({ tracing, problem } = made);
          activeConfig = next;
          if (!isSame && before) retire(before);
        },
        abandon() {
          if (!isSame) void made.tracing?.close(0);
        },
      };
    },
    async filesChanged() {
      if (problem !== undefined) ({ tracing, problem } = await openTracing(activeConfig, deps));
    },
    close: async () => {
      await Promise.all([...former, ...(tracing ? [tracing] : [])].map((open) => open.close(0)));
    },
  };
}

function tracedBy({ server, telemetry_config: settings }: RunConfig): string {
  return JSON.stringify([server, settings]);
}

interface Opened {
  readonly tracing: Tracing | undefined;
  readonly problem: string | undefined;
}

async function openTracing(config: RunConfig, deps: TracingDeps): Promise<Opened> {
  if (!config.telemetry_config.tracingEnabled) return { tracing: undefined, problem: undefined };
  const { createTracing } = await import('./tracing/create-tracing.ts');
  try {
    checkTracing(config);
    return { tracing: createTracing(config, deps), problem: undefined };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const problem = `no spans are sent until this is mended: ${error.message}`;
    deps.log.warn(problem);
    return { tracing: undefined, problem };
  }
}

/** @throws ConfigError */
function checkTracing({ telemetry_config: settings }: RunConfig): void {
  const problems = findTracingProblems(settings);
  if (problems.length === 0) return;
  const texts = problems.map(({ path, message }) => `telemetry_config.${pathText(path)}: ${message}`);
  throw new ConfigError(texts.join('; '));
}
