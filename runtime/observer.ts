import { performance } from 'node:perf_hooks';
import type { Writable } from 'node:stream';
import type { ProxySettings } from '#lib/connections/proxy';
import type { RunConfig } from '#crds/run-config/run-config';
import { ConfigError } from '#runtime/errors';
import type { Audit, AuditEvent } from '#runtime/audit/audit';
import { auditRequest } from '#runtime/audit/audit-request';
import { createAudit } from '#runtime/audit/create-audit';
import { createReadSource, type ReadSource } from '#runtime/http/read-source';
import { auditEviction } from '#runtime/audit/audit-eviction';
import type { Eviction } from '#runtime/mcp/sessions/evict-session';
import type { Services } from '#runtime/services';
import type { SecretFiles } from '#runtime/secret-files';
import { countEvents, type EventCounters } from '#runtime/telemetry/count-events';
import { followTracing, type FollowedTracing } from '#runtime/telemetry/follow-tracing';
import type { Log } from '#runtime/telemetry/log';
import type { Metrics } from '#runtime/telemetry/metrics';
import { classOf } from '#runtime/telemetry/request-series';
import type { RequestRecord } from '#runtime/request-record';

export interface Observer extends EventCounters {
  readonly requests: Pick<Services, 'begin' | 'finish'>;
  readonly record: (event: AuditEvent) => void;
  readonly readSource: ReadSource;
  readonly authServerAnswered: (endpoint: string, status: number) => void;
  readonly sessionEvicted: (eviction: Eviction) => void;
  policyReloaded(): void;
  configReloaded(outcome: 'success' | 'failure'): void;
  /** Builds the objects of another configuration: commit or abandon them. @throws ConfigError; then the former ones stay active */
  prepare(config: RunConfig): Promise<PreparedObserver>;
  readonly traces: Pick<FollowedTracing, 'warnings' | 'filesChanged'>;
  readonly auditProblem: () => string | undefined;
  reopen(): void;
  close(): Promise<void>;
}

interface PreparedObserver {
  commit(): void;
  abandon(): void;
}

interface ObserverDeps {
  readonly metrics: Metrics;
  readonly log: Log;
  readonly auditStream: Writable;
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly files: Pick<SecretFiles, 'read'>;
  readonly proxy: ProxySettings | undefined;
}

const CLOSE_WITHIN = 2_000;

/** @throws ConfigError */
export async function createObserver(config: RunConfig, deps: ObserverDeps): Promise<Observer> {
  const { metrics } = deps;
  let activeConfig = config;
  const tracing = await followTracing(config, { ...deps, counts: metrics.spans });
  let audit = openAudit(config, deps);
  let auditProblem: string | undefined;
  let readSource: ReadSource = createReadSource(config.trusted_proxies);
  const reloaded = (type: 'policy_reloaded' | 'config_reloaded', outcome: 'success' | 'failure') => {
    metrics.count('vmcp_reloads_total', type === 'policy_reloaded' ? 'policy' : 'config', outcome);
    audit.record({ type, outcome });
  };
  return {
    requests: watchRequests(tracing, (requestRecord, duration) => {
      if (activeConfig.telemetry_config.metricsEnabled) countRequest(metrics, requestRecord, duration);
      auditRequest(audit, requestRecord, duration, ({ req }) => readSource(req));
    }),
    record: (event) => audit.record(event),
    readSource: (req) => readSource(req),
    ...countEvents(metrics),
    authServerAnswered: (endpoint, status) => countAnswer(activeConfig, metrics, endpoint, status),
    sessionEvicted: (eviction) => noteEviction(eviction, audit, deps),
    policyReloaded: () => reloaded('policy_reloaded', 'success'),
    configReloaded: (outcome) => reloaded('config_reloaded', outcome),
    async prepare(next) {
      const nextSource = createReadSource(next.trusted_proxies);
      const traces = await tracing.prepare(next);
      const isKept = auditProblem === undefined && hasSameAudit(next, activeConfig);
      const opened = isKept ? { audit } : orAbandon(() => openOrKeep(() => openAudit(next, deps), audit), traces);
      return {
        commit() {
          const before = audit;
          audit = opened.audit;
          auditProblem = noteProblem(opened, deps.log);
          traces.commit();
          readSource = nextSource;
          activeConfig = next;
          if (before !== audit) void before.close(CLOSE_WITHIN);
        },
        abandon() {
          traces.abandon();
          if (opened.audit !== audit) void opened.audit.close(CLOSE_WITHIN);
        },
      };
    },
    traces: tracing,
    auditProblem: () => auditProblem,
    reopen: () => audit.reopen(),
    close: () => Promise.all([audit.close(CLOSE_WITHIN), tracing.close()]).then(() => undefined),
  };
}

const hasSameAudit = (one: RunConfig, other: RunConfig): boolean =>
  JSON.stringify(one.audit_config) === JSON.stringify(other.audit_config);

interface OpenedAudit {
  readonly audit: Audit;
  readonly problem?: string;
}

function noteProblem({ problem }: OpenedAudit, log: Log): string | undefined {
  if (problem !== undefined) log.error(problem);
  return problem;
}

/** Opens the audit log. If that fails, the former one stays open, so that other changes still apply. */
function openOrKeep(open: () => Audit, former: Audit): OpenedAudit {
  try {
    return { audit: open() };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { audit: former, problem: `${error.message}; the former audit log stays in use` };
  }
}

function openAudit(
  { audit_config: settings, server }: RunConfig,
  { metrics, log, auditStream: stream }: ObserverDeps,
): Audit {
  return createAudit(settings, { component: server.name, stream, now: Date.now, log, counts: metrics.audit });
}

function countAnswer({ telemetry_config }: RunConfig, metrics: Metrics, endpoint: string, status: number): void {
  if (telemetry_config.metricsEnabled) metrics.count('vmcp_auth_requests_total', endpoint, classOf(status));
}

function noteEviction(eviction: Eviction, audit: Audit, { metrics, log }: ObserverDeps): void {
  const { reason, idle, session } = eviction;
  auditEviction(audit, eviction);
  metrics.count('vmcp_sessions_evicted_total', reason);
  log.info('a session was evicted for another', {
    reason,
    session,
    idle_seconds: Math.round(idle / 1000),
  });
}

function watchRequests(
  { begun, finished }: FollowedTracing,
  note: (requestRecord: RequestRecord, milliseconds: number) => void,
): Observer['requests'] {
  return {
    begin: begun,
    finish(requestRecord) {
      const duration = performance.now() - requestRecord.startedAt;
      // A refused request gets its trace now, and the audit names it.
      finished(requestRecord, duration);
      note(requestRecord, duration);
    },
  };
}

/** @throws the error of `make`; then it closes the prepared traces */
function orAbandon<T>(make: () => T, traces: { abandon(): void }): T {
  try {
    return make();
  } catch (error) {
    traces.abandon();
    throw error;
  }
}

const BACKEND_CODE = 'backend_';

function countRequest(metrics: Metrics, requestRecord: RequestRecord, duration: number): void {
  const { method, req, outcome, status, backend, bridge, code } = requestRecord;
  metrics.requestDone(method ?? req.method ?? 'other', outcome, status, duration);
  if (backend === undefined) return;
  metrics.backendDone(backend, outcome, status, duration);
  if (bridge !== undefined) metrics.count('vmcp_backend_bridged_requests_total', backend, bridge);
  if (code?.startsWith(BACKEND_CODE))
    metrics.count('vmcp_backend_failures_total', backend, code.slice(BACKEND_CODE.length));
}
