/** Under what a session is stored. Neither says who or what it is. */
export interface RecordName {
  /** Hash of the session's id. */
  readonly key: string;
  /** Hash of its principal. */
  readonly owner: string;
}

/** By name, as they are stored: `version sealed`. */
export type StoredFields = Readonly<Record<string, string>>;

export interface StoredRecord extends RecordName {
  readonly fields: StoredFields;
}

export interface NewRecord extends StoredRecord {
  /** Hash of the caller whose number of sessions is bounded. */
  readonly countedFor: string;
}

export interface EvictedRecord extends StoredRecord {
  /** Milliseconds since its last use. */
  readonly unused: number;
}

/** What a new record has to observe. Times in milliseconds. */
export interface RecordBounds {
  readonly idle: number;
  /** Records that are counted for the same caller. */
  readonly most: number;
  /** After its last use a record is not evicted for so long. Use is told late, so it is longer than that takes. */
  readonly safe: number;
}

export interface RecordChange {
  readonly field: string;
  /** The version that it replaces; undefined: whichever is there. */
  readonly replaces: number | undefined;
  /** undefined: the field goes. */
  readonly value: string | undefined;
}

export interface RecordUse extends RecordName {
  /** Milliseconds since its last use; undefined: it is not used, but has an open stream, and so does not end. */
  readonly unused: number | undefined;
}

/** What became of a record that was asked for. `ended` is also one whose time is over; `foreign`: it is another principal's. */
export type NoRecord = 'missing' | 'ended' | 'foreign';

/** `evicted`: the one idle for longest comes first. `full`: none can be evicted within `wait` milliseconds. */
export type Opening =
  | { readonly outcome: 'opened'; readonly evicted: readonly EvictedRecord[] }
  | { readonly outcome: 'full'; readonly wait: number }
  | { readonly outcome: 'there' | Exclude<NoRecord, 'missing'> };

/** Stores sessions outside of the process. Each operation rejects with StorageUnavailable where the store cannot answer. */
export interface SessionRecords {
  /** Whether this process alone writes them, so that sessions which it knows need them for a restart only. */
  readonly isOwn: boolean;
  /** Whether a new session can be stored, as far as is known. */
  readonly isReady: boolean;
  /** A warning for the operator of the process; undefined: none. */
  readonly problem: string | undefined;
  /** Stores a new record. Where its caller has its full number, those idle for longest are evicted. */
  open(record: NewRecord, bounds: RecordBounds): Promise<Opening>;
  /** Reads a record, and notes that it is used now. */
  load(name: RecordName, idle: number): Promise<StoredFields | NoRecord>;
  /** @returns what stands where another version was stored; empty: it was written in full */
  write(name: RecordName, changes: readonly RecordChange[], idle: number): Promise<StoredFields | NoRecord>;
  /** Ends a record. It is known as ended for as long as it might have been idle. */
  end(name: RecordName, idle: number): Promise<void>;
  /** Notes when records were used. @returns for each what became of it; undefined: it is there */
  touch(uses: readonly RecordUse[], idle: number): Promise<(NoRecord | undefined)[]>;
  /** Ends at most 100 records whose time is over; each is told once, to one process. */
  sweep(idle: number): Promise<readonly StoredRecord[]>;
}
