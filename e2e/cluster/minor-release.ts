import type { Cluster } from './use-cluster.ts';

/** 36 of a server of 1.36, or of one whose maker writes `36+`. */
export async function minorRelease(cluster: Cluster): Promise<number> {
  const { minor } = (await cluster.ask('GET', '/version')).body as { minor: string };
  return Number.parseInt(minor, 10);
}
