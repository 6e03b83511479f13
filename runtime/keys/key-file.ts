/** A file that holds a key or a secret. */
export interface KeyFile {
  /** Name as in the configuration. */
  readonly file: string;
  readonly content: Uint8Array;
}
