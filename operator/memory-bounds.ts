export const MIB = 1024 * 1024;

/**
 * What others may make the operator hold at once, in bytes, each bound where it is kept: of a text its length, of JSON what `weightOf` says.
 * memory-bounds.test.ts adds up those that can be reached together, with what they cost, and holds them against the pod's limit.
 */
export const BOUNDS = {
  /** Answers of the API server. */
  api: {
    /** A page of several objects: a list of empty ones takes twenty times as many as its text. */
    page: 8 * MIB,
    /** One object, as text, whatever it takes: the largest in etcd is 1.5 MB, and JSON makes it longer. */
    object: 16 * MIB,
    /** Everything at once, where the API server no longer knows a page from which to go on. */
    list: 16 * MIB,
    /** A line of a watch: one object. */
    line: 16 * MIB,
  },
  /** What is kept of the Secrets that resources name; the same of ConfigMaps. */
  named: {
    ofNamespace: 16 * MIB,
    ofAll: 64 * MIB,
    /** What a namespace has within it is kept all the same: nobody else can take that away. */
    sure: MIB / 2,
  },
  /** What is kept of what pods say at `/status`. */
  heard: {
    /** More than 1,500 pods of 25 backends with a Secret each say less. */
    ofNamespace: 16 * MIB,
    ofAll: 32 * MIB,
    /** As above. */
    sure: MIB / 2,
  },
  webhook: {
    /** Two resources of the API server's greatest size, and what stands around them. */
    body: 8 * MIB,
    /** Bodies until they are answered; those that are short are not counted. */
    bodies: 16 * MIB,
    shortBody: MIB / 16,
    /** What a review reads of what nobody named before, a key counted with what stands around it. */
    ofReview: 4 * MIB,
  },
} as const;
