/**
 * ConfigMaps that the management API writes, of one namespace. Two of them: documents of a folder, and objects of a cluster. One that
 * somebody else made is read, and never written or deleted.
 */
export interface ConfigMaps {
  get(name: string): Promise<StoredConfigMap | undefined>;
  /**
   * Replaces what has this version; with none, makes what is not there. Gives the new version. Throws Problem `stale` when it is
   * another by now, there already, or gone; `conflict` for one that is not of this API.
   */
  put(name: string, data: Record<string, string>, version: string | undefined): Promise<string>;
  /** Whether one of this API was there. Throws Problem `stale` when it has another version by now. */
  delete(name: string, version: string): Promise<boolean>;
}

export interface StoredConfigMap {
  /** Key to text. */
  data: Record<string, string>;
  /** Changes with what it says. */
  version: string;
}

/** Marks those of this API. */
export const MADE_HERE = { name: 'app.kubernetes.io/managed-by', value: 'vmcp-management' } as const;
