export interface KeyFile {
  readonly file: string;
  readonly content: Uint8Array;
}
