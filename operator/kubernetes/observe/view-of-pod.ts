import { defined } from '#operator/plan/defined';
import { RUNTIMES } from '#operator/plan/object-parts';
import type { PodProblem } from '#operator/world';
import type { KubeObject } from '../api/object.ts';
import { controllerOf } from '../watch/owned-children.ts';
import { explainPod } from './explain-pod.ts';

/** What is kept of a pod of ours: there may be as many as resources. */
export interface WatchedPod extends KubeObject {
  /** Its labels say that it is a runtime's. */
  isRuntime: boolean;
  /** What makes pods of its kind; undefined for one that labels alone make one of ours. */
  maker?: { kind: 'Deployment' | 'StatefulSet'; name: string };
  /** Which shape of the template it has. */
  shape: string;
  /** RFC 3339. */
  madeAt: string;
  /** Absent until it has one. */
  ip?: string;
  /** It ends, or has ended: nobody waits for it. */
  gone: boolean;
  /** ConfigMaps that it mounts. */
  configMaps: string[];
  /** Why it does not start. */
  problem?: PodProblem;
}

interface PodFields {
  spec?: { volumes?: { configMap?: { name?: string } }[] };
  status?: { phase?: string; podIP?: string };
}

/** A pod, as far as it is of use here. `now`: milliseconds since 1970. */
export function viewOfPod(object: KubeObject, now: number): WatchedPod {
  const { spec, status } = object as KubeObject & PodFields;
  const { name, namespace, uid, resourceVersion, labels = {}, creationTimestamp, deletionTimestamp } = object.metadata;
  const ended = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  const gone = ended || deletionTimestamp !== undefined;
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { name, ...defined({ namespace, uid, resourceVersion }) },
    isRuntime: RUNTIMES.includes(labels['app.kubernetes.io/name'] ?? ''),
    shape: shapeOf(labels),
    madeAt: creationTimestamp ?? '',
    gone,
    configMaps: (spec?.volumes ?? []).flatMap(({ configMap }) => configMap?.name ?? []),
    ...defined({ maker: makerOf(object), ip: status?.podIP, problem: gone ? undefined : explainPod(object, now) }),
  };
}

function shapeOf(labels: Record<string, string>): string {
  return labels['pod-template-hash'] ?? labels['controller-revision-hash'] ?? '';
}

/**
 * What makes a pod. Labels alone say nothing: anybody may write them on any pod, and a pod that is taken for a runtime is sent that
 * runtime's token.
 */
function makerOf(pod: KubeObject): WatchedPod['maker'] {
  const owner = controllerOf(pod);
  if (owner?.kind === 'StatefulSet') return { kind: owner.kind, name: owner.name };
  const hash = pod.metadata.labels?.['pod-template-hash'];
  if (owner?.kind !== 'ReplicaSet' || hash === undefined || !owner.name.endsWith(`-${hash}`)) return undefined;
  return { kind: 'Deployment', name: owner.name.slice(0, -hash.length - 1) };
}
