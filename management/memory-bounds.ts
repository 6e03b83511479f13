import { MIB } from '#operator/memory-bounds';

/**
 * Limits what callers can make the management API hold at once, in bytes: of a text its length, of JSON what `weightOf` returns. Each bound is kept
 * where it is used. memory-bounds.test.ts adds up those that can be reached together, and compares the sum with the limit of its pod.
 */
export const BOUNDS = {
  /** Bodies of requests. */
  bodies: {
    /** Two resources of the API server's greatest size. */
    one: 4 * MIB,
    ofCaller: 16 * MIB,
    ofAll: 64 * MIB,
    /** Not counted: as many as there may be connections take 16 MiB. */
    short: MIB / 16,
  },
  /** Lists, of which `LISTS_AT_ONCE` are read at the same time. */
  lists: {
    resources: 32 * MIB,
    /** Among which those are found that have begun; a page of them is held. */
    pods: 32 * MIB,
    records: 16 * MIB,
    /** Bound of writes. The rest is for fields that the API server adds and for concurrent writers. */
    written: 15 * MIB,
  },
  /** Registries of all namespaces. */
  registries: {
    /** A registry file, as text: ten thousand servers. */
    file: 16 * MIB,
    /** A page of a registry's API, as text. */
    page: 4 * MIB,
    /** One cached registry. A page counts twice, as its answer is held as text, too. */
    one: 16 * MIB,
    ofAll: 32 * MIB,
  },
  /** Signatures of one image, as text. */
  signatures: { manifest: 4 * MIB, one: 4 * MIB },
} as const;
