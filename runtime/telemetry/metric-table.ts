import type { AuditCounts } from '#runtime/audit/batch-writer';
import type { LabelledCounts } from './labelled-counts.ts';
import type { RequestSeries } from './request-series.ts';
import type { SpanCounts } from './span-counts.ts';

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
  readonly bridged: { readonly sessions: number; readonly parked: number };
  readonly tools: number | null;
  /** Milliseconds since the epoch. */
  readonly lastProbe: number | undefined;
}

export interface Recorded {
  readonly process: Readonly<Record<'version' | 'namespace' | 'server', string>>;
  readonly byMethod: Map<string, RequestSeries>;
  readonly byBackend: Map<string, RequestSeries>;
  readonly counts: LabelledCounts;
  readonly audit: AuditCounts;
  readonly spans: SpanCounts;
  sources?: MetricSources;
}

type Row = readonly [labels: Record<string, string>, value: number];
type Rows = Iterable<Row> | Promise<Iterable<Row>>;

export type Metric = { readonly name: string; readonly labels: readonly string[]; readonly help: string } & (
  | { readonly kind: 'counter' | 'gauge'; readonly rows: (from: Recorded) => Rows }
  | { readonly kind: 'histogram'; readonly series: (from: Recorded) => ReadonlyMap<string, RequestSeries> }
);

/** Metrics that count single events: labels and help text. `Metrics.count` increments them. */
const COUNTED = {
  vmcp_backend_failures_total: [['backend', 'reason'], 'Calls without an answer, by reason.'],
  vmcp_auth_requests_total: [
    ['endpoint', 'status'],
    'Answers of the authorization server, by path (/oauth/token …) and class of the status.',
  ],
  vmcp_backend_bridged_requests_total: [
    ['backend', 'bridge'],
    'Requests that a bridge translated: the era of the client, then that of the backend.',
  ],
  vmcp_token_exchanges_total: [['backend', 'outcome'], 'Token exchanges, and calls that needed none.'],
  vmcp_webhook_requests_total: [['webhook', 'outcome'], 'Webhook requests: allowed, denied, failed.'],
  vmcp_rate_limited_total: [
    ['scope', 'outcome'],
    'Requests that a rate limit refused, or that were refused or let through uncounted.',
  ],
  vmcp_sessions_evicted_total: [
    ['reason'],
    'Sessions evicted for new ones: principal or replica had reached its limit.',
  ],
  vmcp_cache_lookups_total: [['cache', 'result'], 'Lookups in caches.'],
  vmcp_policy_decisions_total: [['decision'], 'Decisions about calls.'],
  vmcp_policy_errors_total: [['kind'], 'Policies that failed, by effect, and failures of the engine.'],
  vmcp_reloads_total: [['what', 'outcome'], 'Changes of configuration and policies.'],
} as const satisfies Record<string, readonly [readonly [string] | readonly [string, string], string]>;
export type CountedName = keyof typeof COUNTED;
export const COUNTED_NAMES = Object.keys(COUNTED) as CountedName[];

function counted(name: CountedName): Metric {
  const [labels, help] = COUNTED[name];
  const [one, two] = labels;
  const rows = function* ({ counts }: Recorded): Generator<Row> {
    for (const { first, second, value } of counts.entries(name))
      yield [{ [one]: first, ...(two !== undefined && { [two]: second }) }, value];
  };
  return { name, kind: 'counter', labels, help, rows };
}

const counter = (name: string, labels: string[], help: string, rows: (from: Recorded) => Rows): Metric => ({
  ...{ name, kind: 'counter', labels, help, rows },
});

/** A gauge has no sample before its sources exist. */
const gauge = (name: string, labels: string[], help: string, read: (from: MetricSources) => Rows): Metric => ({
  ...{ name, kind: 'gauge', labels, help },
  rows: ({ sources }) => (sources === undefined ? [] : read(sources)),
});

const perBackend = (
  name: string,
  labels: string[],
  help: string,
  read: (backend: BackendGauges) => Row | undefined,
): Metric =>
  gauge(name, ['backend', ...labels], help, ({ backends }) =>
    backends().flatMap((backend) => {
      const [own, value] = read(backend) ?? [];
      return value === undefined ? [] : [[{ backend: backend.name, ...own }, value] as const];
    }),
  );

/** All metrics of a runtime. Registration, the reference page and the tests derive from this table. */
export const METRICS: readonly Metric[] = [
  counter(
    'vmcp_requests_total',
    ['method', 'outcome', 'status'],
    'Requests to the MCP endpoint. The status is a class, such as 4xx.',
    ({ byMethod }) => requests(byMethod, 'method'),
  ),
  {
    ...{ name: 'vmcp_request_duration_seconds', kind: 'histogram', labels: ['method'] },
    help: 'Time to the end of the answer. The buckets range from 0.5 ms to 600 s.',
    series: ({ byMethod }) => byMethod,
  },
  counter('vmcp_backend_requests_total', ['backend', 'outcome', 'status'], 'Requests by backend.', ({ byBackend }) =>
    requests(byBackend, 'backend'),
  ),
  {
    ...{ name: 'vmcp_backend_request_duration_seconds', kind: 'histogram', labels: ['backend'] },
    help: 'Time to the end of the answer, by backend.',
    series: ({ byBackend }) => byBackend,
  },
  ...COUNTED_NAMES.map(counted),
  counter('vmcp_audit_events_total', ['result'], 'Audit events, written or lost.', ({ audit }) =>
    results({ ...audit }),
  ),
  counter('vmcp_spans_total', ['result'], 'Spans, taken by the collector or lost.', ({ spans }) =>
    results({ ...spans }),
  ),
  gauge('vmcp_sessions', [], 'Open sessions.', ({ sessions }) => [[{}, sessions()]]),
  gauge('vmcp_streams', [], 'Open streams to clients.', ({ streams }) => [[{}, streams()]]),
  gauge('vmcp_requests_running', [], 'Requests in flight.', ({ running }) => [[{}, running()]]),
  gauge('vmcp_buffered_bytes', [], 'Memory of buffered messages.', ({ buffered }) => [[{}, buffered().bytes]]),
  gauge('vmcp_buffered_limit_bytes', [], 'Limit of the memory of buffered messages.', ({ buffered }) => [
    [{}, buffered().limit_bytes],
  ]),
  gauge('vmcp_buffered_waiting', [], 'Messages that wait for memory.', ({ buffered }) => [[{}, buffered().waiting]]),
  gauge(
    'vmcp_auth_rows',
    ['kind'],
    'Clients, pending logins, sessions and links of the authorization server, at most 30 s old. Absent while its storage does not answer.',
    async ({ authRows }) => Object.entries((await authRows()) ?? {}).map(([kind, count]): Row => [{ kind }, count]),
  ),
  perBackend('vmcp_backend_phase', ['phase'], '1 for the phase of a backend at its last probe.', ({ phase }) => [
    { phase },
    1,
  ]),
  perBackend(
    'vmcp_backend_breaker',
    ['state'],
    '1 for the state of the circuit breaker: closed, open, half-open.',
    ({ breaker }) => [{ state: breaker }, 1],
  ),
  perBackend('vmcp_backend_calls_in_flight', [], 'Calls in flight at a backend, including queued ones.', (backend) => [
    {},
    backend.calls.inFlight,
  ]),
  perBackend('vmcp_backend_calls_queued', [], 'Calls beyond operational.concurrency.perBackend.', ({ calls }) => [
    {},
    calls.queued,
  ]),
  perBackend('vmcp_backend_oldest_call_seconds', [], 'Age of the oldest call at a backend.', ({ calls }) => [
    {},
    calls.oldest / 1000,
  ]),
  perBackend(
    'vmcp_backend_bridged_sessions',
    [],
    'Sessions at an older backend for clients of 2026-07-28.',
    ({ bridged }) => [{}, bridged.sessions],
  ),
  perBackend(
    'vmcp_backend_calls_parked',
    [],
    'Calls of clients of 2026-07-28 that wait for input, at an older backend.',
    ({ bridged }) => [{}, bridged.parked],
  ),
  perBackend('vmcp_backend_tools', [], 'Tools of a backend, if known.', ({ tools }) =>
    tools === null ? undefined : [{}, tools],
  ),
  perBackend('vmcp_backend_last_probe_timestamp_seconds', [], 'Time of the last probe.', ({ lastProbe }) =>
    lastProbe === undefined ? undefined : [{}, lastProbe / 1000],
  ),
  {
    ...{ name: 'vmcp_info', kind: 'gauge', labels: ['version', 'namespace', 'server'] },
    help: 'Always 1. The labels describe the process.',
    rows: ({ process }) => [[process, 1]],
  },
];

const results = (counts: Record<string, number>): Row[] =>
  Object.entries(counts).map(([result, value]) => [{ result }, value]);

function* requests(all: ReadonlyMap<string, RequestSeries>, label: string): Generator<Row> {
  for (const [value, series] of all) {
    for (const { outcome, status, count } of series.counts()) yield [{ [label]: value, outcome, status }, count];
  }
}
