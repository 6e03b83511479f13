import { MIB } from '#operator/memory-bounds';

/** The code that uses a bound enforces it. memory-bounds.test.ts compares their concurrent sum with the pod's memory limit. */
export const BOUNDS = {
  bodies: {
    /** Twice the maximum size of a resource in the API server. */
    one: 4 * MIB,
    ofCaller: 16 * MIB,
    ofAll: 64 * MIB,
    /** Not counted: with the maximum number of connections they take 16 MiB. */
    short: MIB / 16,
  },
  lists: {
    resources: 32 * MIB,
    /** Pods that are searched for started ones; one page of them is in memory. */
    pods: 32 * MIB,
    records: 16 * MIB,
    /** Smaller than `records`: the API server adds fields, and other writers may write concurrently. */
    written: 15 * MIB,
  },
  registries: {
    /** Registry file as text: ten thousand servers. */
    file: 16 * MIB,
    /** Page of a registry's API as text. */
    page: 4 * MIB,
    /** Cached size of one registry. A page counts twice because the cache also holds the answer as text. */
    one: 16 * MIB,
    ofAll: 32 * MIB,
  },
  signatures: { manifest: 4 * MIB, one: 4 * MIB },
} as const;
