import type { Cluster } from './use-cluster.ts';

/** Returns 36 for a server of 1.36, also for one that reports `36+`. */
export async function minorRelease(cluster: Cluster): Promise<number> {
  const { minor } = (await cluster.ask('GET', '/version')).body as { minor: string };
  return Number.parseInt(minor, 10);
}
