import { defined } from '#operator/plan/defined';
import { RUNTIMES } from '#operator/plan/object-parts';
import type { PodProblem } from '#operator/snapshot';
import type { KubeObject } from '../api/object.ts';
import { controllerOf } from '../watch/owned-children.ts';
import { explainPod } from './explain-pod.ts';

/** The cached part of a pod. It is small, as there may be as many pods as resources. */
export interface WatchedPod extends KubeObject {
  isRuntime: boolean;
  /** The workload that owns pods of its kind; undefined if only labels attribute the pod to vmcp. */
  maker?: { kind: 'Deployment' | 'StatefulSet'; name: string };
  /** Revision of the pod template. */
  shape: string;
  /** RFC 3339. */
  madeAt: string;
  ip?: string;
  gone: boolean;
  configMaps: string[];
  problem?: PodProblem;
}

interface PodFields {
  spec?: { volumes?: { configMap?: { name?: string } }[] };
  status?: { phase?: string; podIP?: string };
}

/** Reduces a pod to the fields that the operator uses. `now`: milliseconds since 1970. */
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

/** Returns the workload that owns a pod. Labels prove nothing: any user may set them, and a runtime's pod receives its token. */
function makerOf(pod: KubeObject): WatchedPod['maker'] {
  const owner = controllerOf(pod);
  if (owner?.kind === 'StatefulSet') return { kind: owner.kind, name: owner.name };
  const hash = pod.metadata.labels?.['pod-template-hash'];
  if (owner?.kind !== 'ReplicaSet' || hash === undefined || !owner.name.endsWith(`-${hash}`)) return undefined;
  return { kind: 'Deployment', name: owner.name.slice(0, -hash.length - 1) };
}
