import type { Context } from '../context.ts';
import { REASONS } from '../doctor/probe.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { quoted } from '../name-program.ts';
import { shownLine } from '../shown-output.ts';
import { NotReceived } from './receive-callback.ts';

function codeIn(problem: unknown): string | undefined {
  if (typeof problem !== 'object' || problem === null) return undefined;
  const code = 'code' in problem && typeof problem.code === 'string' ? problem.code : '';
  if (code in REASONS || /^E[A-Z]+$/.test(code)) return code;
  return 'cause' in problem ? codeIn(problem.cause) : undefined;
}

/** Returns the innermost message: "fetch failed" has a cause with more detail. */
function messageOf(problem: unknown): string {
  if (typeof problem !== 'object' || problem === null || !('message' in problem)) return String(problem);
  const { message } = problem;
  return 'cause' in problem && problem.cause ? `${String(message)}: ${messageOf(problem.cause)}` : String(message);
}

/** Escapes server text before it reaches the terminal. */
export function failureAt(url: URL, problem: unknown, { typed }: Pick<Context, 'typed'>): CliError {
  if (problem instanceof CliError) return problem;
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
    `${shownLine(messageOf(problem)).slice(0, 500)} ("${typed(`doctor ${quoted(url.href)}`)}" looks closer)`,
    options,
  );
}
