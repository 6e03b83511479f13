import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { LabelledCounts } from './labelled-counts.ts';
import { type CountedName, type Metric, METRICS, type MetricSources, type Recorded } from './metric-table.ts';
import { METHODS } from './methods.ts';
import { type Outcome, RequestSeries } from './request-series.ts';

export interface Metrics extends Pick<Recorded, 'audit' | 'spans'> {
  /** Counts a finished request. Methods unknown to MCP count as `other`. */
  requestDone(method: string, outcome: Outcome, status: number, milliseconds: number): void;
  backendDone(backend: string, outcome: Outcome, status: number, milliseconds: number): void;
  /** Counts an event by the labels of its metric, in the order of the table. No label is input of a client. */
  count(name: CountedName, first: string, second?: string): void;
  watch(sources: MetricSources): void;
  render(): Promise<{ contentType: string; text: string }>;
}

/** Returns the metrics of one process. `process` becomes the labels of `vmcp_info`. */
export function createMetrics(process: Recorded['process']): Metrics {
  const registry = new Registry();
  const recorded: Recorded = {
    process,
    byMethod: new Map(),
    byBackend: new Map(),
    counts: new LabelledCounts(),
    audit: { written: 0, dropped: 0 },
    spans: { exported: 0, dropped: 0 },
  };
  const { byMethod, byBackend, counts, audit, spans } = recorded;

  collectDefaultMetrics({ register: registry });
  for (const metric of METRICS) register(metric, recorded, registry);

  return {
    requestDone: (method, outcome, status, ms) =>
      seriesOf(byMethod, METHODS.has(method) ? method : 'other').note(outcome, status, ms),
    backendDone: (backend, outcome, status, ms) => seriesOf(byBackend, backend).note(outcome, status, ms),
    count: (name, first, second) => counts.add(name, first, second),
    audit,
    spans,
    watch(sources) {
      recorded.sources = sources;
    },
    async render() {
      const present = recorded.sources?.backends().map(({ name }) => name);
      if (present !== undefined) forget(recorded, new Set(present));
      const durations = METRICS.flatMap((metric) => renderHistogram(metric, recorded));
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

function forget({ byBackend, counts }: Recorded, present: ReadonlySet<string>): void {
  for (const backend of byBackend.keys()) if (!present.has(backend)) byBackend.delete(backend);
  for (const { name, labels } of METRICS) if (labels[0] === 'backend') counts.retain(name, present);
}

function register(metric: Metric, recorded: Recorded, registry: Registry): void {
  if (metric.kind === 'histogram') return;
  const { name, help, labels, rows } = metric;
  const described = { name, help, labelNames: [...labels], registers: [registry] };
  if (metric.kind === 'gauge')
    new Gauge({
      ...described,
      async collect() {
        const read = await rows(recorded);
        this.reset();
        for (const [values, value] of read) this.set(values, value);
      },
    });
  else
    new Counter({
      ...described,
      async collect() {
        const read = await rows(recorded);
        this.reset();
        for (const [values, value] of read) this.inc(values, value);
      },
    });
}

function renderHistogram(metric: Metric, recorded: Recorded): string[] {
  if (metric.kind !== 'histogram') return [];
  const { name, help, labels, series } = metric;
  const lines = [...series(recorded)].flatMap(([value, { durations }]) =>
    durations.render(name, `${labels.join()}=${JSON.stringify(value)}`),
  );
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines];
}
