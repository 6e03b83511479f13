import { beforeEach, describe, expect, it } from '@jest/globals';
import { PodProblems } from './pod-problems.ts';
import { viewOfPod, type WatchedPod } from './view-of-pod.ts';

const MAKER = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'mcp-a', namespace: 'ns' } };

interface Made {
  image?: string;
  fails?: boolean;
  madeAt?: string;
  owner?: { kind: string; name: string };
  ending?: boolean;
  configMap?: string;
}

function pod(shape: string, name: string, made: Made = {}): WatchedPod {
  const { image = `a:${shape}`, fails = true, madeAt = '2026-01-01T00:00:00Z', ending = false } = made;
  const owner = made.owner ?? { kind: 'ReplicaSet', name: `mcp-a-${shape}` };
  const labels = { 'app.kubernetes.io/name': 'mcp-backend', 'pod-template-hash': shape };
  return viewOfPod(
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace: 'ns',
        uid: name,
        labels,
        creationTimestamp: madeAt,
        ownerReferences: [{ apiVersion: 'apps/v1', uid: 'rs', controller: true, ...owner }],
        ...(ending && { deletionTimestamp: madeAt }),
      },
      spec: {
        containers: [{ name: 'mcp', image }],
        volumes: [{ configMap: { name: made.configMap } }, { secret: {} }],
      },
      status: {
        containerStatuses: [
          { name: 'mcp', ready: !fails, state: fails ? { waiting: { reason: 'ImagePullBackOff' } } : { running: {} } },
        ],
      },
    },
    0,
  );
}

let changes: string[];
let problems: PodProblems;
beforeEach(() => {
  changes = [];
  problems = new PodProblems(({ kind, metadata: { namespace, name } }) => changes.push(`${kind} ${namespace}/${name}`));
});
const said = (maker: typeof MAKER = MAKER) => /"([^"]*)"/.exec(problems.of(maker)?.message ?? '')?.[1];

describe('PodProblems', () => {
  it('reports changes to the workload, and forgets problems with the pods', () => {
    const first = pod('1', 'x');
    problems.told(undefined, first);
    problems.told(undefined, pod('1', 'y'));
    expect([said(), changes]).toEqual(['a:1', ['Deployment ns/mcp-a']]);
    problems.told(first, pod('1', 'x', { ending: true }));
    expect(said()).toBe('a:1');
    problems.told(pod('1', 'y'), undefined);
    expect([said(), changes.length]).toEqual([undefined, 3]);
  });

  it('selects pods of the latest revision, not those being replaced', () => {
    problems.told(undefined, pod('1', 'x'));
    problems.told(undefined, pod('2', 'z', { fails: false, madeAt: '2026-01-01T00:01:00Z' }));
    expect(said()).toBeUndefined();
    problems.told(undefined, pod('2', 'z', { madeAt: '2026-01-01T00:01:00Z' }));
    expect(said()).toBe('a:2');
  });

  it('selects the first pod by name, in any order of events', () => {
    for (const name of ['y', 'x', 'z']) problems.told(undefined, pod('1', name, { image: name }));
    expect(said()).toBe('x');
  });

  it('takes linear time per change', () => {
    const pods = 500;
    let looks = 0;
    const watched = (index: number): WatchedPod => {
      const one = pod('1', `x-${index}`);
      const { name } = one.metadata;
      const metadata = Object.defineProperty({ ...one.metadata }, 'name', { get: () => ((looks += 1), name) });
      return { ...one, metadata };
    };
    // Adds them out of order: 7 has no factor in common with their number.
    for (let index = 0; index < pods; index += 1) problems.told(undefined, watched((index * 7) % pods));
    looks = 0;
    problems.told(undefined, watched(0));
    expect(looks).toBeLessThan(6 * pods);
  });

  it('supports a StatefulSet, too', () => {
    problems.told(undefined, pod('1', 'mcp-a-0', { owner: { kind: 'StatefulSet', name: 'mcp-a' } }));
    expect([said(), said({ ...MAKER, kind: 'StatefulSet' })]).toEqual([undefined, 'a:1']);
  });

  it('ignores a pod that only its labels attribute to vmcp', () => {
    problems.told(undefined, pod('1', 'x', { owner: { kind: 'ReplicaSet', name: 'other' } }));
    problems.told(undefined, pod('1', 'x', { owner: { kind: 'Job', name: 'mcp-a-1' } }));
    expect(changes).toEqual([]);
  });
});

describe('PodProblems.mounts', () => {
  it('returns true until the pod ends', () => {
    const older = pod('1', 'x', { configMap: 'mcp-a-bridge-v0.1.0' });
    problems.told(undefined, older);
    problems.told(undefined, pod('2', 'y', { configMap: 'mcp-a-bridge-v0.2.0' }));
    const mounted = () => ['v0.1.0', 'v0.2.0', 'v0.3.0'].map((one) => problems.mounts(MAKER, `mcp-a-bridge-${one}`));
    expect(mounted()).toEqual([true, true, false]);
    expect(problems.mounts({ ...MAKER, kind: 'StatefulSet' }, 'mcp-a-bridge-v0.1.0')).toBe(false);
    problems.told(older, pod('1', 'x', { configMap: 'mcp-a-bridge-v0.1.0', ending: true }));
    expect(mounted()).toEqual([false, true, false]);
  });
});
