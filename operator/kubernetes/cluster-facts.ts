import type { ClusterFacts } from '#operator/snapshot';
import type { KubernetesOptions } from './kubernetes-options.ts';

/** Converts the flags of the operator for the planner. */
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
