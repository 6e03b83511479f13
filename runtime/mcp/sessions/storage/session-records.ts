/** The keys of a stored session. They reveal neither its id nor its principal. */
export interface RecordName {
  /** Hash of the session's id. */
  readonly key: string;
  /** Hash of its principal. */
  readonly owner: string;
}

/** Stored fields by name: `version sealed`. */
export type StoredFields = Readonly<Record<string, string>>;

export interface StoredRecord extends RecordName {
  readonly fields: StoredFields;
}

export interface NewRecord extends StoredRecord {
  /** Hash of the caller whose number of sessions is limited. */
  readonly countedFor: string;
}

export interface EvictedRecord extends StoredRecord {
  /** Milliseconds since its last use. */
  readonly unused: number;
}

/** Limits for a new record. Times in milliseconds. */
export interface RecordBounds {
  readonly idle: number;
  /** The limit of records for the same caller. */
  readonly most: number;
  /** Milliseconds after its last use before which a record is not evicted. Uses are recorded late, so it exceeds that delay. */
  readonly safe: number;
}

export interface RecordChange {
  readonly field: string;
  /** The version that it replaces; undefined: any. */
  readonly replaces: number | undefined;
  /** undefined: the field is removed. */
  readonly value: string | undefined;
}

export interface RecordUse extends RecordName {
  /** Milliseconds since its last use; undefined: it has only an open stream, and so does not end. */
  readonly unused: number | undefined;
}

/** Why a record was not returned. `ended` includes records whose time is over; `foreign`: it belongs to another principal. */
export type NoRecord = 'missing' | 'ended' | 'foreign';

/** `evicted`: idle for longest first. `full`: no record can be evicted for `wait` milliseconds. */
export type Opening =
  | { readonly outcome: 'opened'; readonly evicted: readonly EvictedRecord[] }
  | { readonly outcome: 'full'; readonly wait: number }
  | { readonly outcome: 'there' | Exclude<NoRecord, 'missing'> };

/** Stores sessions outside of the process. Each operation rejects with StorageUnavailable if the store cannot answer. */
export interface SessionRecords {
  /** Whether this process alone writes the records, and so reads them only after a restart. */
  readonly isOwn: boolean;
  /** Whether a new session can be stored, by the last known state. */
  readonly isReady: boolean;
  /** A warning for the operator of the process; undefined: none. */
  readonly problem: string | undefined;
  /** Stores a new record. If the quota of its caller is exhausted, evicts those that were idle for longest. */
  open(record: NewRecord, bounds: RecordBounds): Promise<Opening>;
  /** Reads a record and records a use. */
  load(name: RecordName, idle: number): Promise<StoredFields | NoRecord>;
  /** Writes fields. @returns the stored fields that have another version; empty: all were written */
  write(name: RecordName, changes: readonly RecordChange[], idle: number): Promise<StoredFields | NoRecord>;
  /** Ends a record. The store remembers that it ended for its remaining idle time. */
  end(name: RecordName, idle: number): Promise<void>;
  /** Records when sessions were used. @returns the state of each; undefined: it exists */
  touch(uses: readonly RecordUse[], idle: number): Promise<(NoRecord | undefined)[]>;
  /** Ends at most 100 records whose time is over. Each is returned once, to one process. */
  sweep(idle: number): Promise<readonly StoredRecord[]>;
}
