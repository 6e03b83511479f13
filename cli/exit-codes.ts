/** `vmcp --help` prints this table. */
export const EXIT_CODES = {
  ok: 0,
  /** A manifest is invalid, or a checked endpoint has errors. */
  input: 1,
  usage: 2,
  notRunning: 3,
  alreadyRunning: 4,
  /** Another failure: a file cannot be written, or an identity provider refuses. */
  failed: 5,
  notFound: 6,
  /** The object exists already, has changed meanwhile, or belongs to another owner. */
  conflict: 7,
  forbidden: 8,
} as const;

export const EXIT_CODE_HELP = `Exit codes:
  0  done
  1  something is wrong with what was given: a manifest (printed with file and line), a value, an endpoint that doctor checked
  2  the command was written wrongly
  3  nothing runs here, or it does not serve (yet)
  4  vmcp already runs here
  5  anything else that failed
  6  what was named is not there
  7  it is there already, has changed meanwhile, or belongs to somebody else
  8  not allowed`;

/** The message is for the user, the exit code for scripts. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
