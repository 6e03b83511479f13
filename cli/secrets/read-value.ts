import { LONGEST_VALUE } from '#management/secrets/secrets';
import { askPerson, isAnswered } from '../ask-person.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { readGiven, withoutLineBreak } from '../read-given.ts';

/** Reads a file, hidden input or standard input; other programs can see the command line. @throws CliError */
export async function readValue(what: string, file: string | undefined, context: Context): Promise<string> {
  if (file !== undefined && file !== '-') return readGiven(file, LONGEST_VALUE, context);
  const value =
    isAnswered(context) && file === undefined
      ? await askPerson(`${what}: `, context, true)
      : withoutLineBreak(await readGiven('-', LONGEST_VALUE + 2, context));
  if (value !== '') return value;
  throw new CliError(EXIT_CODES.input, `${what}: nothing was given; type it, pipe it in, or name a file`);
}
