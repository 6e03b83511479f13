import { Option } from 'commander';
import { askPerson, isAnswered } from './ask-person.ts';
import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';

export const yesOption = (): Option => new Option('-y, --yes', 'do it without asking').default(false);

/** @throws CliError when the answer is not yes, or without a terminal and without `--yes` */
export async function confirm(what: string, { yes }: { yes: boolean }, context: Context): Promise<void> {
  if (yes) return;
  if (!isAnswered(context))
    throw new CliError(EXIT_CODES.usage, `${what}: this cannot be undone and needs a confirmation: write --yes`);
  const answer = await askPerson(`${what}? [y/N] `, context);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError(EXIT_CODES.failed, 'nothing was changed');
}
