import type { Writable } from 'node:stream';
import type { RunConfig } from '#crds/run-config/run-config';
import type { Audit } from '#runtime/audit/audit';
import { auditRequest } from '#runtime/audit/audit-request';
import { createAudit } from '#runtime/audit/create-audit';
import { createReadSource, type ReadSource } from '#runtime/http/read-source';
import type { ExchangeOutcome } from '#runtime/outgoing/create-credential';
import type { PolicyMetrics } from '#runtime/policy/policy-metrics';
import type { Log } from '#runtime/telemetry/log';
import type { Metrics } from '#runtime/telemetry/metrics';
import type { Trail } from '#runtime/trail';

/** What the rooms tell of, for audit and metrics. */
export interface Observer {
  /** A request is over. */
  finished(trail: Trail): void;
  readonly exchanged: (backend: string, outcome: ExchangeOutcome) => void;
  policyReloaded(): void;
  configReloaded(outcome: 'success' | 'failure'): void;
  readonly policy: PolicyMetrics;
  /** Another configuration is in force. @throws ConfigError, and then the former goes on */
  apply(config: RunConfig): void;
  close(): Promise<void>;
}

export interface ObserverDeps {
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
      metrics.requestDone(trail.method ?? trail.req.method ?? 'other', trail.outcome, trail.status, duration);
      if (trail.backend !== undefined) metrics.backendDone(trail.backend, trail.outcome, trail.status, duration);
      auditRequest(audit, trail, duration, sourceOf);
    },
    exchanged: metrics.exchanged,
    policyReloaded: () => reloaded('policy_reloaded', 'success'),
    configReloaded: (outcome) => reloaded('config_reloaded', outcome),
    policy: metrics.policy,
    apply(next) {
      readSource = createReadSource(next.trusted_proxies);
      if (JSON.stringify(next.audit_config) !== JSON.stringify(inForce.audit_config)) {
        const before = audit;
        audit = open(next);
        void before.close(CLOSE_WITHIN);
      }
      inForce = next;
    },
    close: () => audit.close(CLOSE_WITHIN),
  };
}
