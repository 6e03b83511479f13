/** What the command's exit code says; `vmcp --help` prints this table. */
export const EXIT_CODES = {
  ok: 0,
  /** Something is wrong in the manifests, or with an endpoint that was looked at. */
  input: 1,
  /** The command was written wrongly. */
  usage: 2,
  /** Nothing runs here, or it does not serve (yet). */
  notRunning: 3,
  /** Something already runs here. */
  alreadyRunning: 4,
  /** Anything else: a file that cannot be written, an identity provider that refuses. */
  failed: 5,
  /** What was named is not there. */
  notFound: 6,
  /** It is there already, has changed meanwhile, or is somebody else's. */
  conflict: 7,
  /** Who asks may not do this. */
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

/** Ends the command with a message for people and a code for scripts. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
