import type { PodProblem } from '#operator/world';
import type { KubeObject } from '../api/object.ts';
import type { WatchedPod } from './view-of-pod.ts';

/** Where what makes pods is. */
type Maker = Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>;

const idOf = ({ kind, metadata: { namespace = '', name } }: Maker) => `${kind} ${namespace}/${name}`;

function makerOf({ maker, metadata: { namespace } }: WatchedPod): Maker | undefined {
  if (!maker) return undefined;
  const metadata = { name: maker.name, ...(namespace !== undefined && { namespace }) };
  return { apiVersion: 'apps/v1', kind: maker.kind, metadata };
}

/** Of the latest shape, as one that is being replaced is no news; the first by name, so that pods that fail alike do not take turns. */
function firstProblem(pods: Iterable<WatchedPod>): PodProblem | undefined {
  const present = [...pods].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const latest = present.reduce<WatchedPod | undefined>(
    (one, pod) => (one && one.madeAt >= pod.madeAt ? one : pod),
    undefined,
  );
  return present.find(({ shape, problem }) => shape === latest?.shape && problem)?.problem;
}

/** Why pods do not start, by what makes them. */
export class PodProblems {
  readonly #pods = new Map<string, Map<string, WatchedPod>>();
  readonly #changed: (maker: Maker) => void;

  /** `changed` is told of each Deployment or StatefulSet of whose pods another thing is to be said. */
  constructor(changed: (maker: Maker) => void) {
    this.#changed = changed;
  }

  /** What the watch of pods tells. */
  told(old: WatchedPod | undefined, current: WatchedPod | undefined): void {
    const pod = current ?? old;
    const maker = pod && makerOf(pod);
    if (!maker) return;
    const before = this.of(maker);
    this.#put(idOf(maker), pod.metadata.uid ?? '', current?.gone === false ? current : undefined);
    if (before?.message !== this.of(maker)?.message) this.#changed(maker);
  }

  of(maker: Maker): PodProblem | undefined {
    return firstProblem(this.#pods.get(idOf(maker))?.values() ?? []);
  }

  #put(id: string, uid: string, pod: WatchedPod | undefined): void {
    const pods = this.#pods.get(id) ?? new Map<string, WatchedPod>();
    if (pod) pods.set(uid, pod);
    else pods.delete(uid);
    if (pods.size > 0) this.#pods.set(id, pods);
    else this.#pods.delete(id);
  }
}
