import type { Context } from '../context.ts';
import { REASONS } from '../doctor/probe.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { quoted } from '../name-program.ts';
import { shownLine } from '../shown-output.ts';
import { NotReceived } from './receive-callback.ts';

/** A request without an answer, e.g. to the identity provider of the endpoint. */
export class FailedAt extends Error {
  override readonly name = 'FailedAt';
  readonly url: URL;
  constructor(url: URL, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.url = url;
  }
}

function codeIn(problem: unknown): string | undefined {
  if (typeof problem !== 'object' || problem === null) return undefined;
  const code = 'code' in problem && typeof problem.code === 'string' ? problem.code : '';
  if (code in REASONS || /^E[A-Z]+$/.test(code)) return code;
  return 'cause' in problem ? codeIn(problem.cause) : undefined;
}

function failedIn(problem: unknown): URL | undefined {
  if (problem instanceof FailedAt) return problem.url;
  return problem instanceof Error && problem.cause !== undefined ? failedIn(problem.cause) : undefined;
}

/** Returns the innermost message: "fetch failed" has a cause with more detail. */
function messageOf(problem: unknown): string {
  if (typeof problem !== 'object' || problem === null || !('message' in problem)) return String(problem);
  const { message } = problem;
  if (problem instanceof FailedAt) return messageOf(problem.cause);
  return 'cause' in problem && problem.cause ? `${String(message)}: ${messageOf(problem.cause)}` : String(message);
}

/** Names the server that failed, which may be another one than the endpoint. Escapes its text before it reaches the terminal. */
export function failureAt(endpoint: URL, problem: unknown, { typed }: Pick<Context, 'typed'>): CliError {
  if (problem instanceof CliError) return problem;
  const url = failedIn(problem) ?? endpoint;
  const options = { cause: problem };
  if (problem instanceof NotReceived) return new CliError(EXIT_CODES.failed, problem.message, options);
  const code = codeIn(problem);
  if (code !== undefined) {
    const reason = REASONS[code] ?? code;
    // The server answers, but its certificate or protocol is wrong.
    if (code === 'EPROTO' || !/^E[A-Z]+(_AGAIN)?$/.test(code))
      return new CliError(EXIT_CODES.failed, `${url.origin}: ${reason}`, options);
    const message = `${url.origin} does not answer (${reason}): start it, or check the URL`;
    return new CliError(EXIT_CODES.notRunning, message, options);
  }
  return new CliError(
    EXIT_CODES.failed,
    `${shownLine(messageOf(problem)).slice(0, 500)} ("${typed(`doctor ${quoted(endpoint.href)}`)}" looks closer)`,
    options,
  );
}
