import type { Writable } from 'node:stream';
import type { Log } from '#lib/log/log';
import { type ClusterManagement, startClusterManagement } from '#management/cluster/start-cluster-management';
import { MOST_POD_LOGS } from '#management/workloads/pod-logs';
import { KubeApi, type OnRequest } from '../api/api.ts';
import { connect, loadKubeConfig } from '../api/connection.ts';
import type { Flags } from './flags.ts';

interface ManagementPlace {
  version: string;
  log: Log;
  /** One line for each change by the management API. */
  audit: Writable;
  /** Of this process: proxies are named there. */
  environment: NodeJS.ProcessEnv;
  port: number;
  /** Namespace of the operator. */
  namespace: string;
  onRequest: OnRequest;
}

/** Requests to the API server at once, for all callers of the API together: those of the operator itself are others. */
const CONNECTIONS = 32;

/** Serves the management API. Nothing that is wrong with it ends the operator: it is logged, and tried again. */
export function openManagement(
  flags: Flags,
  { version, log, audit, environment, port, namespace, onRequest }: ManagementPlace,
): ClusterManagement {
  const { name, apiGroup, bindAddress: host, managementNamespace, watchNamespace: watched } = flags;
  const { managementAllowPrivateAddresses: privateAddresses, managementSigstoreRoots: sigstoreRoots } = flags;
  const open = (connections: number) => new KubeApi(connect(loadKubeConfig(flags), { connections }), onRequest);
  return startClusterManagement({
    api: open(CONNECTIONS),
    streams: open(MOST_POD_LOGS),
    ...{ name, apiGroup, host, watched, usualNamespace: managementNamespace },
    ...{ version, audit, environment, privateAddresses, sigstoreRoots, port, namespace },
    log,
    onListening: (managementPort) => log.info('the management API is served', { managementPort }),
    onFailure: (text) => log.warn('the management API could not do what it was asked', { problem: text }),
    onProblem: (problem) => log.warn('the management API has a problem', { problem }),
  });
}
