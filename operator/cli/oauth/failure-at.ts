import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { quoted } from '../name-program.ts';
import { shownLine } from '../shown-output.ts';
import { NotReceived } from './receive-callback.ts';

/** The code of a failed connection, wherever it is wrapped. */
function codeIn(problem: unknown): string | undefined {
  if (typeof problem !== 'object' || problem === null) return undefined;
  if ('code' in problem && typeof problem.code === 'string' && /^E[A-Z]+$/.test(problem.code)) return problem.code;
  return 'cause' in problem ? codeIn(problem.cause) : undefined;
}

/** What went wrong, in people's words; the text of a server never gets into the terminal as it is. */
export function failureAt(url: URL, problem: unknown, { typed }: Pick<Context, 'typed'>): CliError {
  if (problem instanceof CliError) return problem;
  const options = { cause: problem };
  if (problem instanceof NotReceived) return new CliError(EXIT_CODES.failed, problem.message, options);
  const code = codeIn(problem);
  if (code !== undefined) {
    return new CliError(
      EXIT_CODES.notRunning,
      `${url.origin} does not answer (${code}): start it, or check the URL`,
      options,
    );
  }
  const message = problem instanceof Error ? problem.message : String(problem);
  return new CliError(
    EXIT_CODES.failed,
    `${shownLine(message).slice(0, 500)} ("${typed(`doctor ${quoted(url.href)}`)}" looks closer)`,
    options,
  );
}
