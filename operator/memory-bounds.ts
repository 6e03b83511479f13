export const MIB = 1024 * 1024;

/** Limits of others' data, in bytes: text length, or `weightOf` of JSON. memory-bounds.test.ts adds them up against the pod's limit. */
export const BOUNDS = {
  api: {
    /** A page of several objects: a list of empty objects takes twenty times the memory of its text. */
    page: 8 * MIB,
    /** One object as text: the largest in etcd has 1.5 MiB, and JSON writes some characters as six. */
    object: 12 * MIB,
    /** The whole list, if the API server no longer knows a continuation. */
    list: 8 * MIB,
    /** A line of a watch: one object. */
    line: 12 * MIB,
    /** Number of long texts (answers, lines of watches) that are read at once. */
    longTexts: 2,
    /** Shorter texts are not counted. */
    shortText: MIB / 32,
    /** Unread bytes of an answer over HTTP/2. */
    window: MIB / 16,
  },
  /** Memory of the cached parts of the Secrets that resources name, and the same for ConfigMaps. */
  named: {
    ofNamespace: 8 * MIB,
    ofAll: 20 * MIB,
    /** The guaranteed share of a namespace, which others cannot take. */
    sure: MIB / 2,
  },
  podStatuses: {
    /** 1,500 pods with 25 backends and a Secret each take less. */
    ofNamespace: 16 * MIB,
    ofAll: 24 * MIB,
    sure: MIB / 2,
  },
  webhook: {
    /** Two resources of the API server's maximum size, and their envelope. */
    body: 4 * MIB,
    /** Texts of bodies until they are parsed. */
    bodies: 6 * MIB,
    /** Weight of parsed bodies until they are answered. */
    parsed: 6 * MIB,
    /** Shorter texts and lighter bodies are not counted. */
    short: MIB / 32,
    /** Memory of the objects that only the reviewed resource names. */
    ofReview: 2 * MIB,
  },
} as const;
