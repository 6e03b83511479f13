/** Documents of a folder, or objects of a cluster. ConfigMaps of other authors are read, but never written or deleted. */
export interface ConfigMaps {
  get(name: string): Promise<StoredConfigMap | undefined>;
  /**
   * Creates if `version` is undefined. Throws Problem `stale`: another version, or it exists already or was deleted;
   * `conflict`: not of this API.
   */
  put(name: string, data: Record<string, string>, version: string | undefined): Promise<string>;
  /** Returns whether it existed. Throws Problem `stale` when its version differs. */
  delete(name: string, version: string): Promise<boolean>;
}

export interface StoredConfigMap {
  data: Record<string, string>;
  version: string;
}

export const MADE_HERE = { name: 'app.kubernetes.io/managed-by', value: 'vmcp-management' } as const;
