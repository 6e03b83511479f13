import { Counter, Gauge, type Registry } from 'prom-client';
import type { AuditCounts } from '#runtime/audit/batch-writer';
import type { LabelledCounts } from './labelled-counts.ts';
import type { SpanCounts } from './span-counts.ts';
import type { RequestSeries } from './request-series.ts';

/** Sources that gauges read on demand. Names of backends come only from the configuration. */
export interface MetricSources {
  readonly sessions: () => number;
  readonly streams: () => number;
  readonly running: () => number;
  /** Bytes of buffered answers, their limit, and the number of backend readers that wait for memory. */
  readonly buffered: () => { readonly bytes: number; readonly limit_bytes: number; readonly waiting: number };
  readonly backends: () => readonly BackendGauges[];
  /** Rows of the authorization server by kind; undefined: there is none, or its storage fails. */
  readonly authRows: () => Promise<Readonly<Record<string, number>> | undefined>;
}

export interface BackendGauges {
  readonly name: string;
  readonly phase: string;
  readonly breaker: string;
  /** `oldest`: milliseconds since the oldest call began. */
  readonly calls: { readonly inFlight: number; readonly queued: number; readonly oldest: number };
  readonly tools: number | null;
  /** Milliseconds since the epoch. */
  readonly lastProbe: number | undefined;
}

interface Counted {
  readonly byMethod: ReadonlyMap<string, RequestSeries>;
  readonly byBackend: ReadonlyMap<string, RequestSeries>;
  readonly counts: LabelledCounts;
  readonly audit: AuditCounts;
  readonly spans: SpanCounts;
}

type Row = readonly [labels: Record<string, string>, value: number];
type Rows = (from: MetricSources) => Iterable<Row> | Promise<Iterable<Row>>;

const CALL_GAUGES: readonly (readonly [name: string, help: string, row: (backend: BackendGauges) => Row])[] = [
  [
    'vmcp_backend_calls_in_flight',
    'Calls under way at a backend, queued ones included.',
    ({ name, calls }) => [{ backend: name }, calls.inFlight],
  ],
  [
    'vmcp_backend_calls_queued',
    'Calls beyond those that a backend gets at a time.',
    ({ name, calls }) => [{ backend: name }, calls.queued],
  ],
  [
    'vmcp_backend_oldest_call_seconds',
    'Age of the oldest call at a backend.',
    ({ name, calls }) => [{ backend: name }, calls.oldest / 1000],
  ],
];

/** Name, help text, counted events, and labels. */
const LABELLED: readonly (readonly [name: string, help: string, counted: string, one: string, two?: string])[] = [
  ['vmcp_auth_requests_total', 'Answers of the authorization server.', 'auth_requests', 'endpoint', 'status'],
  [
    'vmcp_token_exchanges_total',
    'Token exchanges, and how often none was needed.',
    'token_exchanges',
    'backend',
    'outcome',
  ],
  ['vmcp_backend_failures_total', 'Calls without an answer, by reason.', 'backend_failures', 'backend', 'reason'],
  ['vmcp_webhook_requests_total', 'Questions to webhooks, by how they ended.', 'webhooks', 'webhook', 'outcome'],
  ['vmcp_rate_limited_total', 'Requests refused by a rate limit, or not counted.', 'rate_limited', 'scope', 'outcome'],
  ['vmcp_sessions_evicted_total', 'Sessions ended so that others could be opened.', 'sessions_evicted', 'reason'],
  ['vmcp_cache_lookups_total', 'Lookups in caches.', 'cache', 'cache', 'result'],
  ['vmcp_policy_decisions_total', 'Decisions about calls.', 'policy_decisions', 'decision'],
  ['vmcp_policy_errors_total', 'Policies that erred, by effect, and failures of the engine.', 'policy_errors', 'kind'],
  ['vmcp_reloads_total', 'Changes of configuration and policies.', 'reloads', 'what', 'outcome'],
];

export function registerCounters(registry: Registry, { byMethod, byBackend, counts, audit, spans }: Counted): void {
  function counter(name: string, help: string, labelNames: string[], rows: () => Iterable<Row>): void {
    new Counter({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset();
        for (const [labels, value] of rows()) this.inc(labels, value);
      },
    });
  }
  const labelled = function* (name: string, one: string, two?: string): Generator<Row> {
    for (const { first, second, value } of counts.entries(name)) {
      yield [{ [one]: first, ...(two !== undefined && { [two]: second }) }, value];
    }
  };
  counter('vmcp_requests_total', 'Requests to the MCP endpoint.', ['method', 'outcome', 'status'], () =>
    requests(byMethod, 'method'),
  );
  counter('vmcp_backend_requests_total', 'Requests by backend.', ['backend', 'outcome', 'status'], () =>
    requests(byBackend, 'backend'),
  );
  for (const [name, help, counted, one, two] of LABELLED)
    counter(name, help, two === undefined ? [one] : [one, two], () => labelled(counted, one, two));
  counter('vmcp_audit_events_total', 'Audit events, written or lost.', ['result'], () => results({ ...audit }));
  counter('vmcp_spans_total', 'Spans, taken by the collector or lost.', ['result'], () => results({ ...spans }));
}

const results = (counts: Record<string, number>): Row[] =>
  Object.entries(counts).map(([result, value]) => [{ result }, value]);

function* requests(all: ReadonlyMap<string, RequestSeries>, label: string): Generator<Row> {
  for (const [value, series] of all) {
    for (const { outcome, status, count } of series.counts()) yield [{ [label]: value, outcome, status }, count];
  }
}

export function registerGauges(registry: Registry, sources: () => MetricSources | undefined): void {
  function gauge(name: string, help: string, labelNames: string[], rows: Rows): void {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const from = sources();
        const read = from === undefined ? [] : await rows(from);
        this.reset();
        for (const [labels, value] of read) this.set(labels, value);
      },
    });
  }
  gauge('vmcp_sessions', 'Open sessions.', [], (from) => [[{}, from.sessions()]]);
  gauge('vmcp_streams', 'Open streams to clients.', [], (from) => [[{}, from.streams()]]);
  gauge('vmcp_requests_running', 'Requests under way.', [], (from) => [[{}, from.running()]]);
  gauge('vmcp_buffered_bytes', 'Memory used by answers that cannot pass as they come.', [], (from) => [
    [{}, from.buffered().bytes],
  ]);
  gauge('vmcp_buffered_limit_bytes', 'Memory that such answers may use.', [], (from) => [
    [{}, from.buffered().limit_bytes],
  ]);
  gauge('vmcp_buffered_waiting', 'Answers whose reading waits for that memory.', [], (from) => [
    [{}, from.buffered().waiting],
  ]);
  gauge('vmcp_auth_rows', 'Rows of the authorization server, counted at most 30 s ago.', ['kind'], async (from) =>
    Object.entries((await from.authRows()) ?? {}).map(([kind, count]): Row => [{ kind }, count]),
  );
  gauge('vmcp_backend_phase', '1 for the phase that a backend is in.', ['backend', 'phase'], (from) =>
    from.backends().map(({ name, phase }): Row => [{ backend: name, phase }, 1]),
  );
  gauge('vmcp_backend_breaker', '1 for the state that the circuit breaker is in.', ['backend', 'state'], (from) =>
    from.backends().map(({ name, breaker }): Row => [{ backend: name, state: breaker }, 1]),
  );
  for (const [metric, help, row] of CALL_GAUGES) gauge(metric, help, ['backend'], (from) => from.backends().map(row));
  gauge('vmcp_backend_tools', 'Tools of a backend, where known.', ['backend'], (from) =>
    from.backends().flatMap(({ name, tools }): Row[] => (tools === null ? [] : [[{ backend: name }, tools]])),
  );
  gauge('vmcp_backend_last_probe_timestamp_seconds', 'When a backend was asked last.', ['backend'], (from) =>
    from
      .backends()
      .flatMap(({ name, lastProbe }): Row[] =>
        lastProbe === undefined ? [] : [[{ backend: name }, lastProbe / 1000]],
      ),
  );
}
