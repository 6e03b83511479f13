import { PROBLEMS, type ProblemBody, type ProblemCode } from '#management/problem';
import { CliError, EXIT_CODES } from '../exit-codes.ts';

const BY_STATUS: Readonly<Record<number, number>> = {
  400: EXIT_CODES.input,
  401: EXIT_CODES.forbidden,
  403: EXIT_CODES.forbidden,
  404: EXIT_CODES.notFound,
  405: EXIT_CODES.input,
  409: EXIT_CODES.conflict,
  412: EXIT_CODES.conflict,
  413: EXIT_CODES.input,
  415: EXIT_CODES.input,
};

const asCommands = (detail: string): string =>
  detail
    .replaceAll(/(^|\. )body (?=[\w.[\]]+: )/g, (_, before: string) => (before === '' ? '' : '\n'))
    .replaceAll('force=true', '--force')
    .replaceAll(/\((?:GET|POST|PUT|DELETE) \/\S*, or (vmcp [^)]+)\)/g, '($1)');

/** The API's message, with terms of HTTP requests replaced. */
export class Refusal extends CliError {
  readonly code: ProblemCode;
  constructor({ code, detail }: Pick<ProblemBody, 'code' | 'detail'>, options?: ErrorOptions) {
    super(BY_STATUS[PROBLEMS[code][0]] ?? EXIT_CODES.failed, asCommands(detail), options);
    this.code = code;
  }
}

/** Replaces API field names in a refusal by the flags of this command. */
export async function namingFlags<T>(flags: Readonly<Record<string, string>>, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (problem) {
    if (!(problem instanceof Refusal)) throw problem;
    const detail = Object.entries(flags).reduce((text, [field, flag]) => text.replaceAll(field, flag), problem.message);
    throw new Refusal({ code: problem.code, detail }, { cause: problem });
  }
}

export const FETCHING_FLAGS = {
  'set allow_private_ip': 'give --allow-private-ip',
  allow_private_ip: '--allow-private-ip',
};
