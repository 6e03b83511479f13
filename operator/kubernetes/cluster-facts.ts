import type { ClusterFacts } from '#operator/snapshot';
import type { KubernetesOptions } from './kubernetes-options.ts';

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
