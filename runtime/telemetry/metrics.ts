import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { AuditCounts } from '#runtime/audit/batch-writer';
import type { Eviction } from '#runtime/mcp/sessions/evict-session';
import type { ExchangeOutcome } from '#runtime/outgoing/credential-deps';
import type { PolicyMetrics } from '#runtime/policy/policy-metrics';
import type { Limit } from '#runtime/rate-limits/limit';
import type { LimitOutcome } from '#runtime/rate-limits/rate-limits';
import type { WebhookOutcome } from '#runtime/webhooks/create-webhook-gate';
import { LabelledCounts } from './labelled-counts.ts';
import { METHODS } from './methods.ts';
import { type MetricSources, registerCounters, registerGauges } from './register-metrics.ts';
import type { SpanCounts } from './span-counts.ts';
import { classOf, type Outcome, RequestSeries } from './request-series.ts';

type CacheName = 'policy_decisions' | 'verified_tokens' | 'exchanged_tokens';

/** In-memory counters, rendered in the Prometheus text format on demand. */
export interface Metrics {
  /** Counts a finished request. Methods unknown to MCP count as `other`. */
  requestDone(method: string, outcome: Outcome, status: number, milliseconds: number): void;
  /** Counts a finished request to this backend. */
  backendDone(backend: string, outcome: Outcome, status: number, milliseconds: number): void;
  /** Counts a call without an answer of its backend. */
  backendFailed(backend: string, reason: string): void;
  /** Counts an answer of the authorization server. `endpoint` is a path of its route table, never client input. */
  authRequestDone(endpoint: string, status: number): void;
  readonly exchanged: (backend: string, outcome: ExchangeOutcome) => void;
  readonly webhookAsked: (webhook: string, outcome: WebhookOutcome) => void;
  /** Counts a request that a limit refused or could not count. */
  readonly rateLimited: (scope: Limit['scope'], outcome: LimitOutcome) => void;
  /** Counts a session that was evicted for another one. */
  readonly sessionEvicted: (reason: Eviction['reason']) => void;
  lookedUp(cache: CacheName, hit: boolean): void;
  reloaded(what: 'config' | 'policy', outcome: 'success' | 'failure'): void;
  readonly policy: PolicyMetrics;
  /** The audit log increments these. */
  readonly audit: AuditCounts;
  /** The span queue increments these. */
  readonly spans: SpanCounts;
  watch(sources: MetricSources): void;
  render(): Promise<{ contentType: string; text: string }>;
}

/** Returns the metrics of one process. `labels` become labels of `vmcp_info`. */
export function createMetrics(labels: { version: string; namespace: string; server: string }): Metrics {
  const registry = new Registry();
  const byMethod = new Map<string, RequestSeries>();
  const byBackend = new Map<string, RequestSeries>();
  const counts = new LabelledCounts();
  const audit: AuditCounts = { written: 0, dropped: 0 };
  const spans: SpanCounts = { exported: 0, dropped: 0 };
  let sources: MetricSources | undefined;

  collectDefaultMetrics({ register: registry });
  registerCounters(registry, { byMethod, byBackend, counts, audit, spans });
  registerGauges(registry, () => sources);
  new Gauge({
    name: 'vmcp_info',
    help: 'Always 1; says what runs here.',
    labelNames: ['version', 'namespace', 'server'],
    registers: [registry],
  }).set(labels, 1);

  return {
    requestDone: (method, outcome, status, ms) =>
      seriesOf(byMethod, METHODS.has(method) ? method : 'other').note(outcome, status, ms),
    backendDone: (backend, outcome, status, ms) => seriesOf(byBackend, backend).note(outcome, status, ms),
    backendFailed: (backend, reason) => counts.add('backend_failures', backend, reason),
    authRequestDone: (endpoint, status) => counts.add('auth_requests', endpoint, classOf(status)),
    exchanged(backend, outcome) {
      counts.add('token_exchanges', backend, outcome);
      counts.add('cache', 'exchanged_tokens', outcome === 'hit' ? 'hit' : 'miss');
    },
    webhookAsked: (webhook, outcome) => counts.add('webhooks', webhook, outcome),
    rateLimited: (scope, outcome) => counts.add('rate_limited', scope, outcome),
    sessionEvicted: (reason) => counts.add('sessions_evicted', reason),
    lookedUp: (cache, hit) => counts.add('cache', cache, hit ? 'hit' : 'miss'),
    reloaded: (what, outcome) => counts.add('reloads', what, outcome),
    policy: policyMetrics(counts),
    audit,
    spans,
    watch(wanted) {
      sources = wanted;
    },
    async render() {
      const present = sources?.backends().map(({ name }) => name);
      if (present !== undefined) forget(byBackend, counts, new Set(present));
      const durations = [
        ...histogram('vmcp_request_duration_seconds', 'Time to the end of the answer.', 'method', byMethod),
        ...histogram('vmcp_backend_request_duration_seconds', 'The same, by backend.', 'backend', byBackend),
      ];
      return { contentType: registry.contentType, text: `${await registry.metrics()}\n${durations.join('\n')}\n` };
    },
  };
}

function seriesOf(all: Map<string, RequestSeries>, label: string): RequestSeries {
  const known = all.get(label);
  if (known !== undefined) return known;
  const series = new RequestSeries();
  all.set(label, series);
  return series;
}

/** Drops the series of backends that are no longer configured. */
function forget(byBackend: Map<string, RequestSeries>, counts: LabelledCounts, present: ReadonlySet<string>): void {
  for (const backend of byBackend.keys()) if (!present.has(backend)) byBackend.delete(backend);
  counts.retain('token_exchanges', present);
  counts.retain('backend_failures', present);
}

function histogram(name: string, help: string, label: string, all: ReadonlyMap<string, RequestSeries>): string[] {
  const series = [...all].flatMap(([value, { durations }]) =>
    durations.render(name, `${label}=${JSON.stringify(value)}`),
  );
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...series];
}

function policyMetrics(counts: LabelledCounts): PolicyMetrics {
  return {
    decided: (outcome) => counts.add('policy_decisions', outcome),
    lookedUp: (remembered) => counts.add('cache', 'policy_decisions', remembered ? 'hit' : 'miss'),
    policyErred: (effect) => counts.add('policy_errors', effect),
    engineFailed: () => counts.add('policy_errors', 'engine'),
  };
}
