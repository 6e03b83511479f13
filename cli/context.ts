import type { StateFolder } from '#local/state-folder';
import type { LocalFacts } from '#operator/snapshot';

export interface Output {
  write(text: string): unknown;
  /** Writes control sequences unescaped; default: `write`. */
  raw?: (text: string) => unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

interface Input extends NodeJS.ReadableStream {
  isTTY?: boolean;
}

export interface Context {
  input: Input;
  out: Output;
  err: Output;
  environment: NodeJS.ProcessEnv;
  /** The command with which the user's shell starts this program. */
  program: string;
  /** Turns `status` into `npx vmcp status --state x`, for example. */
  typed: (command: string) => string;
  self: string[];
  runtime: string[];
  version: string;
  containerEngine: LocalFacts['containerEngine'];
  state: StateFolder;
}

export type Format = 'json' | 'yaml' | 'table';
/** `name` prints one name a line for other commands. */
export type RecordFormat = Format | 'name';
