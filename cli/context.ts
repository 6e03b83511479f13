import type { StateFolder } from '#local/state-folder';
import type { LocalFacts } from '#operator/world';

/** A stream to print to. */
export interface Output {
  write(text: string): unknown;
  /** The same, for what a terminal is to act on; without, `write` does it. */
  raw?: (text: string) => unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

/** What a person types, or a pipe. */
interface Input extends NodeJS.ReadableStream {
  isTTY?: boolean;
}

/** What a command has of the world around it. */
export interface Context {
  input: Input;
  out: Output;
  /** For people: progress, warnings, errors. */
  err: Output;
  environment: NodeJS.ProcessEnv;
  /** How people call this program where they are. */
  program: string;
  /** A command with its arguments as it has to be typed here: `status` becomes `npx vmcp status --state x`. */
  typed: (command: string) => string;
  /** Program and first arguments of this command itself, to start it again in the background. */
  self: string[];
  /** The same of the runtime. */
  runtime: string[];
  version: string;
  containerEngine: LocalFacts['containerEngine'];
  state: StateFolder;
}

export type Format = 'json' | 'yaml' | 'table';
/** The same, or only names, one a line: for other commands. */
export type RecordFormat = Format | 'name';
