import { without } from './run-jest.ts';

/** Jest's arguments of each lane. */
export type Lanes = readonly (readonly string[])[];

/** Their `vmcp up` searches free ports: two at the same time on one network could find the same port. */
const OWN_PORTS = ['e2e/local/', 'e2e/(cli|management)/'] as const;

/** The tests mostly wait, but many start several processes. Each worker takes up to a gigabyte, and its processes as much again. */
const WORKERS = ['--maxWorkers=4', '--workerIdleMemoryLimit=600MB'] as const;

/** Files that wait a minute or more each and use little CPU. They run in the lane with less work. */
const WAITING = ['e2e/relay/(idle-memory|waiting-calls)\\.', 'e2e/attacks/held-memory\\.'] as const;

/**
 * Returns the concurrent lanes of the end-to-end tests. If each worker has a separate network, one lane with many workers suffices.
 * Otherwise the files of each lane run one by one.
 */
export function e2eLanes(separateNetworks: boolean): Lanes {
  const cluster = '<rootDir>/e2e/cluster/';
  if (separateNetworks) return [[...WORKERS, 'e2e/', ...without(cluster)]];
  return [
    ['--runInBand', ...OWN_PORTS, ...WAITING],
    ['--runInBand', 'e2e/', ...without(cluster, ...OWN_PORTS, ...WAITING)],
  ];
}
