import type { KubeApi } from './api/api.ts';
import type { Clock } from '../queue.ts';
import type { Log } from '#lib/log/log';
import type { ClusterFacts } from '#operator/snapshot';
import type { ReflectorOptions } from './watch/reflector.ts';
import type { fetchPodStatus } from './runtimes/fetch-pod-status.ts';

export interface KubernetesOptions {
  api: KubeApi;
  clock: Clock;
  log: Log;
  apiGroup: string;
  /** Undefined for all. */
  namespaces?: readonly string[] | undefined;
  /** Namespace of the operator and of its stored state; undefined outside of a cluster. */
  operatorNamespace?: string | undefined;
  /** Name of this process in Events. */
  instance: string;
  runtimeImage: string;
  allowHostPaths: boolean;
  stdioAttach: boolean;
  imagePullSecrets: readonly string[];
  scraperNamespaces: readonly string[];
  pods: Pick<ClusterFacts, 'podAnnotations' | 'sidecarsOf' | 'runtimeEnv'>;
  /** Most servers that roll at the same time after an upgrade of the operator. */
  maxConcurrentRollouts: number;
  onRestart?: ReflectorOptions['onRestart'];
  /** Reads the status of a pod; only tests replace it. */
  fetchStatus?: typeof fetchPodStatus;
}

export function factsOf(options: KubernetesOptions): ClusterFacts {
  const { runtimeImage, allowHostPaths, stdioAttach, imagePullSecrets, scraperNamespaces, operatorNamespace } = options;
  return {
    mode: 'cluster',
    runtimeImage,
    allowHostPaths,
    stdioAttach,
    imagePullSecrets: [...imagePullSecrets],
    scraperNamespaces: [...scraperNamespaces],
    ...options.pods,
    ...(operatorNamespace !== undefined && { operatorNamespace }),
  };
}
