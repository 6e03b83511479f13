import type { StateFolder } from '#local/state-folder';
import type { LocalFacts } from '#operator/snapshot';

/** An output stream. */
export interface Output {
  write(text: string): unknown;
  /** Writes control sequences unescaped; default: `write`. */
  raw?: (text: string) => unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

/** Input from a terminal or a pipe. */
interface Input extends NodeJS.ReadableStream {
  isTTY?: boolean;
}

/** Process environment and streams of a command. */
export interface Context {
  input: Input;
  out: Output;
  /** For messages to the user: progress, warnings, errors. */
  err: Output;
  environment: NodeJS.ProcessEnv;
  /** The command by which the user's shell starts this program. */
  program: string;
  /** Returns a command line as the user has to type it: `status` becomes `npx vmcp status --state x`. */
  typed: (command: string) => string;
  /** Program and first arguments of this process, to start it again in the background. */
  self: string[];
  /** Program and first arguments of the runtime. */
  runtime: string[];
  version: string;
  containerEngine: LocalFacts['containerEngine'];
  state: StateFolder;
}

export type Format = 'json' | 'yaml' | 'table';
/** Output format of lists; `name` prints one name a line for other commands. */
export type RecordFormat = Format | 'name';
