/**
 * ConfigMaps of one namespace that the management API writes: documents of a folder, or objects of a cluster. ConfigMaps of other authors
 * are read, but never written or deleted.
 */
export interface ConfigMaps {
  get(name: string): Promise<StoredConfigMap | undefined>;
  /**
   * Replaces this version, or creates the ConfigMap if `version` is undefined. Returns the new version. Throws Problem `stale` when the
   * version differs, or the ConfigMap exists already or was deleted; `conflict` for one that is not of this API.
   */
  put(name: string, data: Record<string, string>, version: string | undefined): Promise<string>;
  /** Returns whether a ConfigMap of this API existed. Throws Problem `stale` when its version differs. */
  delete(name: string, version: string): Promise<boolean>;
}

export interface StoredConfigMap {
  /** Key to text. */
  data: Record<string, string>;
  /** Changes with the content. */
  version: string;
}

/** Label of this API's ConfigMaps. */
export const MADE_HERE = { name: 'app.kubernetes.io/managed-by', value: 'vmcp-management' } as const;
