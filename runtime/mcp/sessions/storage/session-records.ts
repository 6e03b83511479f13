/** The keys of a stored session reveal neither its id nor its principal. */
export interface RecordName {
  readonly key: string;
  readonly owner: string;
}

/** Stored fields by name: `version sealed`. */
export type StoredFields = Readonly<Record<string, string>>;

export interface StoredRecord extends RecordName {
  readonly fields: StoredFields;
}

export interface NewRecord extends StoredRecord {
  /** Hash of the caller that the limit applies to. */
  readonly countedFor: string;
}

export interface EvictedRecord extends StoredRecord {
  /** Milliseconds since the last use. */
  readonly unused: number;
}

/** Milliseconds. */
export interface RecordBounds {
  readonly idle: number;
  readonly most: number;
  /** A younger record is not evicted. Exceeds the delay with which uses are recorded. */
  readonly safe: number;
}

export interface RecordChange {
  readonly field: string;
  /** The version that it replaces; undefined: any. */
  readonly replaces: number | undefined;
  /** Undefined: the field is removed. */
  readonly value: string | undefined;
}

export interface RecordUse extends RecordName {
  /** Milliseconds since the last use. Undefined: the session has only an open stream, and so does not end. */
  readonly unused: number | undefined;
}

/** `ended` includes records whose time is over; `foreign`: it belongs to another principal. */
export type NoRecord = 'missing' | 'ended' | 'foreign';

/** `evicted`: idle for longest first. `full`: no record can be evicted for `wait` milliseconds. */
export type Opening =
  | { readonly outcome: 'opened'; readonly evicted: readonly EvictedRecord[] }
  | { readonly outcome: 'full'; readonly wait: number }
  | { readonly outcome: 'there' | Exclude<NoRecord, 'missing'> };

/** Each operation rejects with StorageUnavailable if the store cannot answer. */
export interface SessionRecords {
  /** This process alone writes the records, and so reads them only after a restart. */
  readonly isOwn: boolean;
  /** Last known state of the store. */
  readonly isReady: boolean;
  readonly problem: string | undefined;
  /** Evicts the longest idle records of the caller if its quota is exhausted. */
  open(record: NewRecord, bounds: RecordBounds): Promise<Opening>;
  /** Also records a use. */
  load(name: RecordName, idle: number): Promise<StoredFields | NoRecord>;
  /** @returns the stored fields that have another version; empty: all were written */
  write(name: RecordName, changes: readonly RecordChange[], idle: number): Promise<StoredFields | NoRecord>;
  /** The store remembers that the record ended for its remaining idle time. */
  end(name: RecordName, idle: number): Promise<void>;
  /** @returns the state of each; undefined: it exists */
  touch(uses: readonly RecordUse[], idle: number): Promise<(NoRecord | undefined)[]>;
  /** Ends at most 100 records whose time is over. Each is returned once, to one process. */
  sweep(idle: number): Promise<readonly StoredRecord[]>;
}
