import type { PodProblem } from '#operator/snapshot';
import type { KubeObject } from '../api/object.ts';
import type { WatchedPod } from './view-of-pod.ts';

type Maker = Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>;

const idOf = ({ kind, metadata: { namespace = '', name } }: Maker) => `${kind} ${namespace}/${name}`;

function makerOf({ maker, metadata: { namespace } }: WatchedPod): Maker | undefined {
  if (!maker) return undefined;
  const metadata = { name: maker.name, ...(namespace !== undefined && { namespace }) };
  return { apiVersion: 'apps/v1', kind: maker.kind, metadata };
}

interface Pods {
  byUid: Map<string, WatchedPod>;
  problem?: PodProblem | undefined;
}

const isFirst = (pod: WatchedPod, other: WatchedPod | undefined): boolean =>
  !other || pod.metadata.name < other.metadata.name;

function isLatest(pod: WatchedPod, other: WatchedPod | undefined): boolean {
  if (!other || pod.madeAt === other.madeAt) return isFirst(pod, other);
  return pod.madeAt > other.madeAt;
}

/** Returns the first problem by name, of the latest revision: a fixed choice avoids alternating between pods that fail alike. */
function firstProblem(pods: Iterable<WatchedPod>): PodProblem | undefined {
  const failing = new Map<string, WatchedPod>();
  let latest: WatchedPod | undefined;
  for (const pod of pods) {
    if (isLatest(pod, latest)) latest = pod;
    if (pod.problem && isFirst(pod, failing.get(pod.shape))) failing.set(pod.shape, pod);
  }
  return latest && failing.get(latest.shape)?.problem;
}

/** Problems of pods and their mounted ConfigMaps, by workload. */
export class PodProblems {
  readonly #makers = new Map<string, Pods>();
  readonly #changed: (maker: Maker) => void;

  constructor(changed: (maker: Maker) => void) {
    this.#changed = changed;
  }

  told(old: WatchedPod | undefined, current: WatchedPod | undefined): void {
    const pod = current ?? old;
    const maker = pod && makerOf(pod);
    if (!maker) return;
    const before = this.of(maker);
    this.#put(idOf(maker), pod.metadata.uid ?? '', current?.gone === false ? current : undefined);
    if (before?.message !== this.of(maker)?.message) this.#changed(maker);
  }

  of(maker: Maker): PodProblem | undefined {
    return this.#makers.get(idOf(maker))?.problem;
  }

  mounts(maker: Maker, configMap: string): boolean {
    const pods = this.#makers.get(idOf(maker))?.byUid.values() ?? [];
    return [...pods].some(({ configMaps }) => configMaps.includes(configMap));
  }

  #put(id: string, uid: string, pod: WatchedPod | undefined): void {
    const { byUid } = this.#makers.get(id) ?? { byUid: new Map<string, WatchedPod>() };
    if (pod) byUid.set(uid, pod);
    else byUid.delete(uid);
    if (byUid.size > 0) this.#makers.set(id, { byUid, problem: firstProblem(byUid.values()) });
    else this.#makers.delete(id);
  }
}
