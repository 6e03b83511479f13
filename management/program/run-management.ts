import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { Log } from '#lib/log/log';
import { KubeApi, type OnRequest } from '#operator/kubernetes/api/api';
import { connect, loadKubeConfig } from '#operator/kubernetes/api/connection';
import { serveHealth, serveMetrics } from '#operator/kubernetes/program/serve-health';
import { type ClusterManagement, startClusterManagement } from '../cluster/start-cluster-management.ts';
import { MOST_POD_LOGS } from '../workloads/pod-logs.ts';
import type { Flags } from './flags.ts';
import { createManagementMetrics } from './metrics.ts';

export interface ManagementDeps {
  version: string;
  log: Log;
  audit: Writable;
  environment: NodeJS.ProcessEnv;
  podNamespace?: string | undefined;
  stop: AbortSignal;
}

/** Concurrent requests to the API server for all callers. Pod logs have separate connections. */
const CONNECTIONS = 32;

/** Serves the management API until `stop` is aborted. Rejects with the remedy when it cannot start. */
export async function runManagement(flags: Flags, deps: ManagementDeps): Promise<void> {
  const { version, log, stop } = deps;
  const serving: { management?: ClusterManagement } = {};
  const isServed = () => serving.management?.isServed() ?? false;
  const metrics = createManagementMetrics(version, isServed);
  const open: { close(): Promise<unknown> }[] = [];
  try {
    const health = await serveHealth(flags, () => (isServed() ? undefined : NOT_SERVED));
    open.push(health);
    const exposed = await serveMetrics(flags, metrics);
    open.push(exposed);
    log.info('the management API starts', { version, healthPort: health.port, metricsPort: exposed.port });
    serving.management = startManagement(flags, deps, metrics.requested);
    open.push(serving.management);
    if (!stop.aborted) await once(stop, 'abort');
    log.info('the management API stops');
  } finally {
    for (const each of open.reverse()) await each.close();
  }
}

const NOT_SERVED = 'the management API is not served yet: the log says why';

/** Logs and retries later failures; they do not end the program. */
function startManagement(flags: Flags, deps: ManagementDeps, onRequest: OnRequest): ClusterManagement {
  const { log, version, audit, environment, podNamespace } = deps;
  const open = (connections: number) => new KubeApi(connect(loadKubeConfig(flags), { connections }), onRequest);
  const api = open(CONNECTIONS);
  return startClusterManagement({
    api,
    streams: open(MOST_POD_LOGS),
    name: flags.name,
    namespace: podNamespace ?? api.namespace ?? 'default',
    apiGroup: flags.apiGroup,
    host: flags.bindAddress,
    port: flags.port,
    watched: flags.watchNamespace,
    usualNamespace: flags.defaultNamespace,
    privateAddresses: flags.allowPrivateAddresses,
    sigstoreRoots: flags.sigstoreRoots,
    ...{ version, audit, environment, log },
    onListening: (managementPort) => log.info('the management API is served', { managementPort }),
    onFailure: (text) => log.warn('the management API could not do what it was asked', { problem: text }),
    onProblem: (problem) => log.warn('the management API has a problem', { problem }),
  });
}
