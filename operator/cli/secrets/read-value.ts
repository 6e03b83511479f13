import { readFileSync, statSync } from 'node:fs';
import { codeOf } from '#operator/local/code-of';
import { LONGEST_VALUE } from '#operator/management/secrets/secrets';
import { askPerson, isAnswered } from '../ask-person.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';

/**
 * A secret text: from a file as it stands there, typed on the terminal where it is not shown, or from standard input without its last
 * line break. Never from the command line, which every program of the machine can read. @throws CliError
 */
export async function readValue(what: string, file: string | undefined, context: Context): Promise<string> {
  if (file !== undefined && file !== '-') return readFile(file);
  const value =
    isAnswered(context) && file === undefined ? await askPerson(`${what}: `, context, true) : await piped(context);
  if (value !== '') return value;
  throw new CliError(EXIT_CODES.input, `${what}: nothing was given; type it, pipe it in, or name a file`);
}

function readFile(file: string): string {
  try {
    if (statSync(file).size > LONGEST_VALUE) throw tooLong(file);
    return readFileSync(file, 'utf8');
  } catch (problem) {
    if (problem instanceof CliError) throw problem;
    throw new CliError(EXIT_CODES.input, `${file} cannot be read (${codeOf(problem) ?? 'unknown'})`, {
      cause: problem,
    });
  }
}

async function piped({ input }: Pick<Context, 'input'>): Promise<string> {
  let text = '';
  for await (const part of input) {
    text += String(part);
    if (text.length > LONGEST_VALUE + 2) throw tooLong('standard input');
  }
  return text.replace(/\r?\n$/, '');
}

function tooLong(where: string): CliError {
  return new CliError(EXIT_CODES.input, `${where} is longer than ${LONGEST_VALUE} bytes, which no secret may be`);
}
