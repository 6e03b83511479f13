export const MIB = 1024 * 1024;

/**
 * Limits of data from other parties, in bytes: the length of a text, `weightOf` of JSON. Each limit applies where the data is stored.
 * memory-bounds.test.ts adds up the limits that can be reached together, with their overhead, and compares them with the pod's limit.
 */
export const BOUNDS = {
  /** Answers of the API server. */
  api: {
    /** A page of several objects: a list of empty objects takes twenty times the memory of its text. */
    page: 8 * MIB,
    /** One object as text: the largest in etcd is 1.5 MB, and JSON makes it longer. */
    object: 16 * MIB,
    /** The whole list, if the API server no longer knows a continuation. */
    list: 16 * MIB,
    /** A line of a watch: one object. */
    line: 16 * MIB,
  },
  /** Cached parts of the Secrets that resources name, and the same for ConfigMaps. */
  named: {
    ofNamespace: 16 * MIB,
    ofAll: 64 * MIB,
    /** The guaranteed share of a namespace, which others cannot take. */
    sure: MIB / 2,
  },
  /** Cached statuses of pods. */
  lastProbe: {
    /** 1,500 pods with 25 backends and a Secret each take less. */
    ofNamespace: 16 * MIB,
    ofAll: 32 * MIB,
    /** As above. */
    sure: MIB / 2,
  },
  webhook: {
    /** Two resources of the API server's maximum size, and their envelope. */
    body: 8 * MIB,
    /** Long bodies until they are answered; short ones are not counted. */
    bodies: 16 * MIB,
    shortBody: MIB / 16,
    /** Objects that only the reviewed resource names, with the overhead per key. */
    ofReview: 4 * MIB,
  },
} as const;
