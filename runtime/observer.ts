import { performance } from 'node:perf_hooks';
import type { Writable } from 'node:stream';
import type { RunConfig } from '#crds/run-config/run-config';
import type { Audit, AuditEvent } from '#runtime/audit/audit';
import { auditRequest } from '#runtime/audit/audit-request';
import { createAudit } from '#runtime/audit/create-audit';
import { createReadSource, type ReadSource } from '#runtime/http/read-source';
import type { ExchangeOutcome } from '#runtime/outgoing/create-credential';
import type { PolicyMetrics } from '#runtime/policy/policy-metrics';
import type { Log } from '#runtime/telemetry/log';
import type { Metrics } from '#runtime/telemetry/metrics';
import type { Trail } from '#runtime/trail';
import type { WebhookOutcome } from '#runtime/webhooks/create-webhook-gate';

/** What the rooms tell of, for audit and metrics. */
export interface Observer {
  /** A request is over. */
  finished(trail: Trail): void;
  /** Something that is no MCP request has happened. */
  readonly record: (event: AuditEvent) => void;
  /** The client's address, by the proxies that are trusted now. */
  readonly readSource: ReadSource;
  readonly exchanged: (backend: string, outcome: ExchangeOutcome) => void;
  readonly webhookAsked: (webhook: string, outcome: WebhookOutcome) => void;
  /** An endpoint of the authorization server has answered. */
  readonly authServerAnswered: (endpoint: string, status: number) => void;
  policyReloaded(): void;
  configReloaded(outcome: 'success' | 'failure'): void;
  readonly policy: PolicyMetrics;
  /** A token was looked for among those that are remembered. */
  readonly tokenLookedUp: (remembered: boolean) => void;
  /**
   * Makes what another configuration needs: to be put in force, or closed again.
   * @throws ConfigError, and then the former goes on
   */
  prepare(config: RunConfig): PreparedObserver;
  /** Opens the audit file anew, after it was moved away. */
  reopen(): void;
  close(): Promise<void>;
}

interface PreparedObserver {
  commit(): void;
  /** It is not wanted after all. */
  abandon(): void;
}

interface ObserverDeps {
  readonly metrics: Metrics;
  readonly log: Log;
  /** Where audit lines go when no file is configured. */
  readonly auditStream: Writable;
}

const CLOSE_WITHIN = 2_000;

/** @throws ConfigError */
export function createObserver(config: RunConfig, { metrics, log, auditStream }: ObserverDeps): Observer {
  const open = ({ audit_config: settings, server }: RunConfig): Audit =>
    createAudit(settings, { component: server.name, stream: auditStream, now: Date.now, log, counts: metrics.audit });
  let inForce = config;
  let audit = open(config);
  let readSource: ReadSource = createReadSource(config.trusted_proxies);
  const sourceOf = (trail: Trail) => readSource(trail.req);
  const reloaded = (type: 'policy_reloaded' | 'config_reloaded', outcome: 'success' | 'failure') => {
    metrics.reloaded(type === 'policy_reloaded' ? 'policy' : 'config', outcome);
    audit.record({ type, outcome });
  };
  return {
    finished(trail) {
      const duration = performance.now() - trail.startedAt;
      if (inForce.telemetry_config.metricsEnabled) countRequest(metrics, trail, duration);
      auditRequest(audit, trail, duration, sourceOf);
    },
    record: (event) => audit.record(event),
    readSource: (req) => readSource(req),
    exchanged: metrics.exchanged,
    webhookAsked: metrics.webhookAsked,
    authServerAnswered(endpoint, status) {
      if (inForce.telemetry_config.metricsEnabled) metrics.authRequestDone(endpoint, status);
    },
    policyReloaded: () => reloaded('policy_reloaded', 'success'),
    configReloaded: (outcome) => reloaded('config_reloaded', outcome),
    policy: metrics.policy,
    tokenLookedUp: (remembered) => metrics.lookedUp('verified_tokens', remembered),
    prepare(next) {
      const nextSource = createReadSource(next.trusted_proxies);
      const isSame = JSON.stringify(next.audit_config) === JSON.stringify(inForce.audit_config);
      const nextAudit = isSame ? audit : open(next);
      return {
        commit() {
          const before = audit;
          audit = nextAudit;
          readSource = nextSource;
          inForce = next;
          if (!isSame) void before.close(CLOSE_WITHIN);
        },
        abandon() {
          if (!isSame) void nextAudit.close(CLOSE_WITHIN);
        },
      };
    },
    reopen: () => audit.reopen(),
    close: () => audit.close(CLOSE_WITHIN),
  };
}

function countRequest(metrics: Metrics, { method, req, outcome, status, backend }: Trail, duration: number): void {
  metrics.requestDone(method ?? req.method ?? 'other', outcome, status, duration);
  if (backend !== undefined) metrics.backendDone(backend, outcome, status, duration);
}
