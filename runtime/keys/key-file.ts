/** A file that holds a key or a secret. */
export interface KeyFile {
  /** As the configuration names it. */
  readonly file: string;
  readonly content: Uint8Array;
}
