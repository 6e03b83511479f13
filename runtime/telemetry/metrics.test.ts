import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { countEvents, type EventCounters } from './count-events.ts';
import { COUNTED_NAMES, METRICS } from './metric-table.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { renderMetricReference } from './render-metric-reference.ts';
import { classOf } from './request-series.ts';

let metrics: Metrics;
let events: EventCounters;
let rows: Readonly<Record<string, number>> | undefined;
beforeEach(() => {
  rows = { sessions: 4, links: 5 };
  metrics = createMetrics({ version: '1.2.3', namespace: 'default', server: 'demo' });
  events = countEvents(metrics);
});

/** Returns the samples whose name begins with `vmcp_`, e.g. `vmcp_sessions 3`. */
async function samples(): Promise<string[]> {
  return (await metrics.render()).text.split('\n').filter((line) => line.startsWith('vmcp_'));
}
const backend = (name: string, phase = 'ready', tools: number | null = 3) => ({
  name,
  phase,
  breaker: 'open',
  calls: { inFlight: 300, queued: 44, oldest: 1_500 },
  bridged: { sessions: 6, parked: 2 },
  tools,
  lastProbe: 1_900_000_000_000,
});
const watch = (...backends: ReturnType<typeof backend>[]) =>
  metrics.watch({
    buffered: () => ({ bytes: 5, limit_bytes: 7, waiting: 1 }),
    ...{ sessions: () => 3, streams: () => 2, running: () => 1, backends: () => backends },
    authRows: () => Promise.resolve(rows),
  });

describe('metrics', () => {
  it('count requests by method, outcome and class of status', async () => {
    metrics.requestDone('tools/call', 'success', 200, 1);
    metrics.requestDone('tools/call', 'success', 202, 1);
    metrics.requestDone('tools/call', 'denied', 401, 1);
    expect(await samples()).toEqual(
      expect.arrayContaining([
        'vmcp_requests_total{method="tools/call",outcome="success",status="2xx"} 2',
        'vmcp_requests_total{method="tools/call",outcome="denied",status="4xx"} 1',
      ]),
    );
  });

  it('report the same counts when they are read again', async () => {
    metrics.requestDone('ping', 'success', 200, 1);
    await samples();
    expect(await samples()).toContain('vmcp_requests_total{method="ping",outcome="success",status="2xx"} 1');
  });

  it('put durations into cumulative buckets', async () => {
    for (const milliseconds of [0.1, 1, 3, 70_000, 599_000, 700_000])
      metrics.requestDone('ping', 'success', 200, milliseconds);
    const lines = (await samples()).filter((line) => line.startsWith('vmcp_request_duration_seconds'));
    const name = 'vmcp_request_duration_seconds';
    expect(lines).toEqual(
      expect.arrayContaining([
        `${name}_bucket{method="ping",le="0.0005"} 1`,
        `${name}_bucket{method="ping",le="0.001"} 2`,
        `${name}_bucket{method="ping",le="0.0025"} 2`,
        `${name}_bucket{method="ping",le="0.005"} 3`,
        `${name}_bucket{method="ping",le="60"} 3`,
        `${name}_bucket{method="ping",le="120"} 4`,
        `${name}_bucket{method="ping",le="300"} 4`,
        `${name}_bucket{method="ping",le="600"} 5`,
        `${name}_bucket{method="ping",le="+Inf"} 6`,
        `${name}_count{method="ping"} 6`,
        `${name}_sum{method="ping"} 1369.0041`,
      ]),
    );
  });

  it('create no series for names that a client invents', async () => {
    for (let call = 0; call < 1000; call++) metrics.requestDone(`evil/${call}"} 1\n`, 'failure', 400, 1);
    const lines = await samples();
    expect(lines.filter((line) => line.includes('evil'))).toEqual([]);
    expect(lines).toContain('vmcp_requests_total{method="other",outcome="failure",status="4xx"} 1000');
  });

  it('follow the configured backends and drop removed ones', async () => {
    metrics.backendDone('a', 'success', 200, 1);
    metrics.backendDone('b', 'error', 200, 1);
    events.exchanged('a', 'exchanged');
    events.exchanged('b', 'failed');
    watch(backend('a'), backend('b', 'unavailable', null));
    expect(await samples()).toEqual(
      expect.arrayContaining([
        'vmcp_backend_requests_total{backend="b",outcome="error",status="2xx"} 1',
        'vmcp_token_exchanges_total{backend="b",outcome="failed"} 1',
        'vmcp_backend_phase{backend="b",phase="unavailable"} 1',
        'vmcp_backend_breaker{backend="b",state="open"} 1',
        'vmcp_backend_calls_in_flight{backend="b"} 300',
        'vmcp_backend_calls_queued{backend="b"} 44',
        'vmcp_backend_oldest_call_seconds{backend="b"} 1.5',
        'vmcp_backend_bridged_sessions{backend="b"} 6',
        'vmcp_backend_calls_parked{backend="b"} 2',
        'vmcp_backend_tools{backend="a"} 3',
        'vmcp_backend_last_probe_timestamp_seconds{backend="a"} 1900000000',
        'vmcp_backend_request_duration_seconds_count{backend="a"} 1',
      ]),
    );
    watch(backend('a'));
    const lines = await samples();
    expect(lines.filter((line) => line.includes('backend="b"'))).toEqual([]);
    expect(lines).toContain('vmcp_backend_requests_total{backend="a",outcome="success",status="2xx"} 1');
  });

  it('count caches, policies, reloads and audit events, and read gauges on demand', async () => {
    events.tokenLookedUp(true);
    events.exchanged('a', 'hit');
    metrics.count('vmcp_auth_requests_total', '/oauth/token', classOf(400));
    metrics.count('vmcp_auth_requests_total', '/oauth/token', classOf(401));
    events.policy.lookedUp(false);
    events.policy.decided('denied');
    events.policy.decided('denied');
    events.policy.policyErred('forbid');
    events.policy.engineFailed();
    metrics.count('vmcp_reloads_total', 'config', 'failure');
    metrics.audit.dropped += 7;
    watch();
    expect(await samples()).toEqual(
      expect.arrayContaining([
        'vmcp_auth_requests_total{endpoint="/oauth/token",status="4xx"} 2',
        'vmcp_cache_lookups_total{cache="verified_tokens",result="hit"} 1',
        'vmcp_cache_lookups_total{cache="exchanged_tokens",result="hit"} 1',
        'vmcp_cache_lookups_total{cache="policy_decisions",result="miss"} 1',
        'vmcp_policy_decisions_total{decision="denied"} 2',
        'vmcp_policy_errors_total{kind="forbid"} 1',
        'vmcp_policy_errors_total{kind="engine"} 1',
        'vmcp_reloads_total{what="config",outcome="failure"} 1',
        'vmcp_audit_events_total{result="dropped"} 7',
        'vmcp_sessions 3',
        'vmcp_streams 2',
        'vmcp_requests_running 1',
        'vmcp_buffered_bytes 5',
        'vmcp_buffered_limit_bytes 7',
        'vmcp_buffered_waiting 1',
        'vmcp_info{version="1.2.3",namespace="default",server="demo"} 1',
      ]),
    );
  });

  it('report the rows of the authorization server, and none while its storage fails', async () => {
    watch();
    const ofRows = async () => (await samples()).filter((line) => line.startsWith('vmcp_auth_rows'));
    expect(await ofRows()).toEqual(['vmcp_auth_rows{kind="sessions"} 4', 'vmcp_auth_rows{kind="links"} 5']);
    rows = undefined;
    expect(await ofRows()).toEqual([]);
  });

  it('render valid text that announces each family once and includes the process metrics', async () => {
    metrics.requestDone('ping', 'success', 200, 1);
    const { contentType, text } = await metrics.render();
    expect(contentType).toMatch(/^text\/plain; version=0\.0\.4/);
    const announced = text.split('\n').filter((line) => line.startsWith('# TYPE'));
    expect(new Set(announced).size).toBe(announced.length);
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
    for (const line of text.split('\n'))
      expect(line).toMatch(/^$|^# (HELP|TYPE) |^[a-z0-9_]+(\{.*\})? -?[0-9.e+-]+$|Nan$/i);
  });
});

describe('METRICS', () => {
  /** Returns the labels of the first sample by the name of its metric. */
  async function labelsByName(): Promise<Map<string, string[]>> {
    metrics.requestDone('ping', 'success', 200, 1);
    metrics.backendDone('a', 'success', 200, 1);
    for (const name of COUNTED_NAMES) metrics.count(name, 'a', 'b');
    watch(backend('a'));
    const found = (await samples()).reverse().map((line): [string, string[]] => {
      const [, name = '', labels = ''] = /^(\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? /.exec(line) ?? [];
      return [name, [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label).filter((label) => label !== 'le')];
    });
    return new Map(found);
  }

  it('has exactly the metrics that a process exposes, each with its labels', async () => {
    expect(await labelsByName()).toEqual(new Map(METRICS.map(({ name, labels }) => [name, [...labels]])));
  });

  it('matches the generated reference page', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/reference/metrics.md'), 'utf8');
    expect(page).toBe(renderMetricReference());
  });
});
