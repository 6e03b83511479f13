/**
 * ConfigMaps that the management API writes, of one namespace. Two of them: documents of a folder, and objects of a cluster. One that
 * somebody else made is read, and never written or deleted.
 */
export interface ConfigMaps {
  /** Key to text. */
  get(name: string): Promise<Record<string, string> | undefined>;
  /** Makes or replaces one of this API; throws Problem `conflict` for another. */
  put(name: string, data: Record<string, string>): Promise<void>;
  /** Whether one of this API was there. */
  delete(name: string): Promise<boolean>;
}

/** Marks those of this API. */
export const MADE_HERE = { name: 'app.kubernetes.io/managed-by', value: 'vmcp-management' } as const;
