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
} as const;

export const EXIT_CODE_HELP = `Exit codes:
  0  done
  1  something is wrong in the manifests (printed with file and line), or a check of doctor failed
  2  the command was written wrongly
  3  nothing runs here, or it does not serve (yet)
  4  vmcp already runs here
  5  anything else that failed`;

/** Ends the command with a message for people and a code for scripts. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
