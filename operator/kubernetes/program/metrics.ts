import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { OnRequest } from '../api/api.ts';
import type { RestartReason } from '../watch/reflector.ts';

type WorkResult = 'success' | 'stalled' | 'waiting' | 'error';

/** Metrics of the operator. No label has a value that a user chooses. */
export interface OperatorMetrics {
  readonly requested: OnRequest;
  watchRestarted(resource: string, why: RestartReason): void;
  /** Counts the work on one resource: its duration in seconds, and the seconds it waited in the queue. */
  worked(kind: string, result: WorkResult, seconds: number): void;
  waited(seconds: number): void;
  retried(kind: string): void;
  watch(sources: { depth: () => number; isLeader: () => boolean }): void;
  render(): Promise<{ contentType: string; text: string }>;
}

const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function createOperatorMetrics(version: string): OperatorMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name: `vmcp_operator_${name}`, help, labelNames, registers });
  const counter = (name: string, help: string, labelNames: string[]) =>
    new Counter({ name: `vmcp_operator_${name}`, help, labelNames, registers });
  const histogram = (name: string, help: string, labelNames: string[] = []) =>
    new Histogram({ name: `vmcp_operator_${name}`, help, labelNames, registers, buckets: BUCKETS });

  gauge('info', 'Always 1; says what runs here.', ['version']).set({ version }, 1);
  const depth = gauge('queue_depth', 'Resources that wait to be worked on.');
  const leader = gauge('leader', '1 while this operator acts, 0 while it waits to take over.');
  const queueSeconds = histogram('queue_wait_seconds', 'Time that resources waited to be worked on.');
  const workSeconds = histogram('work_duration_seconds', 'Time of the work on one resource.', ['kind']);
  const results = counter('reconciles_total', 'Resources that were worked on, by how it went.', ['kind', 'result']);
  const retries = counter('retries_total', 'Attempts that will be repeated.', ['kind']);
  const requests = counter('api_requests_total', 'Requests to the API server.', ['verb', 'resource', 'code']);
  const requestSeconds = histogram('api_request_duration_seconds', 'Time to the answer of the API server.', ['verb']);
  const restarts = counter('watch_restarts_total', 'Watches that ended and began anew.', ['resource', 'reason']);
  let sources: Parameters<OperatorMetrics['watch']>[0] | undefined;

  return {
    requested(verb, resource, code, seconds) {
      requests.inc({ verb, resource, code });
      requestSeconds.observe({ verb }, seconds);
    },
    watchRestarted: (resource, reason) => restarts.inc({ resource, reason }),
    worked(kind, result, seconds) {
      results.inc({ kind, result });
      workSeconds.observe({ kind }, seconds);
    },
    waited: (seconds) => queueSeconds.observe(seconds),
    retried: (kind) => retries.inc({ kind }),
    watch(wanted) {
      sources = wanted;
    },
    async render() {
      depth.set(sources?.depth() ?? 0);
      leader.set(sources?.isLeader() === true ? 1 : 0);
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}
