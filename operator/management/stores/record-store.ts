/** A document as it is stored. */
export interface StoredRecord {
  name: string;
  /** Parsed and checked by whoever owns the kind. */
  value: unknown;
  /** Changes with each write. */
  version: string;
}

/**
 * Documents of one kind in one namespace, by name: clients, registries, skills, operations. Two of them: files of the state
 * folder, and ConfigMaps. Writes are whole or not at all, also when the process is killed, and from several processes.
 */
export interface RecordStore {
  /** By name. */
  list(): Promise<StoredRecord[]>;
  get(name: string): Promise<StoredRecord | undefined>;
  /** Makes it; throws Problem `already_exists`. Gives its version. */
  create(name: string, value: unknown): Promise<string>;
  /** Replaces what has this version; throws Problem `stale` when it is another by now, or gone. Gives the new version. */
  replace(name: string, value: unknown, version: string): Promise<string>;
  /** Whether it was there. With a version: only that one, else Problem `stale`. */
  delete(name: string, version?: string): Promise<boolean>;
}
