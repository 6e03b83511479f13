import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { OnRequest } from '#operator/kubernetes/api/api';

/** No label has a value that a caller chooses. */
export interface ManagementMetrics {
  readonly requested: OnRequest;
  render(): Promise<{ contentType: string; text: string }>;
}

const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function createManagementMetrics(version: string, isServed: () => boolean): ManagementMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const named = (name: string, help: string, labelNames: string[] = []) => ({
    name: `vmcp_management_${name}`,
    help,
    labelNames,
    registers,
  });
  new Gauge(named('info', 'Always 1; the label has the version.', ['version'])).set({ version }, 1);
  const served = new Gauge(named('served', '1 while the API answers, 0 while it has no certificate or no port.'));
  const requests = new Counter(
    named('api_requests_total', 'Requests to the API server.', ['verb', 'resource', 'code']),
  );
  const seconds = new Histogram({
    ...named('api_request_duration_seconds', 'Time to the answer of the API server.', ['verb']),
    buckets: BUCKETS,
  });
  return {
    requested(verb, resource, code, duration) {
      requests.inc({ verb, resource, code });
      seconds.observe({ verb }, duration);
    },
    async render() {
      served.set(isServed() ? 1 : 0);
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}
