import { defined } from '#operator/plan/defined';
import type { KubeObject } from '../api/object.ts';
import { controllerOf } from '../watch/owned-children.ts';

/** What is kept of a runtime's pod. */
export interface RuntimePod extends KubeObject {
  /** Absent until it has one. */
  ip?: string;
  /** It ends, or has ended: nobody waits for it. */
  gone: boolean;
  /** ConfigMaps that it mounts. */
  configMaps: string[];
}

interface PodFields {
  spec?: { volumes?: { configMap?: { name?: string } }[] };
  status?: { phase?: string; podIP?: string };
}

/** A pod, as far as it is of use here. */
export function viewOfPod(object: KubeObject): RuntimePod {
  const { spec, status } = object as KubeObject & PodFields;
  const { name, namespace, uid, resourceVersion, labels, ownerReferences, deletionTimestamp } = object.metadata;
  const ended = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: defined({ name, namespace, uid, resourceVersion, labels, ownerReferences }),
    ...(status?.podIP !== undefined && { ip: status.podIP }),
    gone: ended || deletionTimestamp !== undefined,
    configMaps: (spec?.volumes ?? []).flatMap(({ configMap }) => configMap?.name ?? []),
  };
}

/**
 * The Deployment whose pod it is. Labels alone say nothing: anybody may write them on any pod, and a pod that is taken for a
 * runtime is sent that runtime's token.
 */
export function deploymentOfPod(pod: KubeObject): string | undefined {
  const owner = controllerOf(pod);
  const hash = pod.metadata.labels?.['pod-template-hash'];
  if (owner?.kind !== 'ReplicaSet' || hash === undefined || !owner.name.endsWith(`-${hash}`)) return undefined;
  return owner.name.slice(0, -hash.length - 1);
}
