import { without } from './run-jest.ts';

/** Jest's arguments of each lane. */
export type Lanes = readonly (readonly string[])[];

/** Their `vmcp up` searches free ports: two at the same time on one network could find the same port. */
const OWN_PORTS = ['e2e/local/', 'e2e/(cli|management)/'] as const;

/**
 * Files that wait a minute or more each and use little CPU. They run in the lanes with less work, so that all lanes end at about the same
 * time.
 */
const WAITING = [
  ['e2e/relay/(waiting|resumed)-calls\\.', 'e2e/attacks/held-memory\\.'],
  ['e2e/relay/(idle-memory|silent-calls)\\.'],
] as const;

/**
 * Returns the concurrent lanes of the end-to-end tests. The tests mostly wait, but many start several processes, so each lane runs them one
 * by one. Separate networks allow more lanes.
 */
export function e2eLanes(separateNetworks: boolean): Lanes {
  const others = ['e2e/', ...without('<rootDir>/e2e/cluster/', ...OWN_PORTS, ...WAITING.flat())];
  if (!separateNetworks) {
    return [
      ['--runInBand', ...OWN_PORTS, ...WAITING.flat()],
      ['--runInBand', ...others],
    ];
  }
  const withOwnPorts = OWN_PORTS.map((paths, lane) => ['--runInBand', paths, ...(WAITING[lane] ?? [])]);
  return [...withOwnPorts, ['--maxWorkers=2', '--workerIdleMemoryLimit=1GB', ...others]];
}
