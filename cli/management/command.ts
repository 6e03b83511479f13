import type { Command } from 'commander';
import { contextOf, type Parts } from '../command-parts.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { ManagementApi } from './management-api.ts';
import { withApi } from './open-api.ts';
import { addTarget, type TargetOptions } from './target.ts';

/** What a command that goes through the management API is given. */
interface Task<O> {
  api: ManagementApi;
  options: O;
  context: Context;
  stop: AbortSignal;
}

/** What a command does with the words of its arguments. */
type Work<O> = (words: string[], task: Task<O & TargetOptions>) => Promise<void>;

/** By what the help calls an argument: the command that shows what there is. */
const LISTS = new Map([
  ['workload', 'list --all'],
  ['group', 'group list'],
  ['client', 'client list'],
  ['key', 'secret list'],
  ['skill', 'skill list'],
  ['entry', 'registry search'],
]);

/** What was named and is not there, with what shows what is. */
function withList(problem: unknown, command: Command, { typed }: Pick<Context, 'typed'>): unknown {
  const list = LISTS.get(command.registeredArguments[0]?.name() ?? '');
  if (list === undefined || !(problem instanceof CliError) || problem.exitCode !== EXIT_CODES.notFound) return problem;
  return new CliError(problem.exitCode, `${problem.message}; "${typed(list)}" shows what there is`, { cause: problem });
}

/** Ends the making of a command that goes through the management API: its target options, and what it does with its words. */
export function throughApi<O extends object>(
  { around, stop, finish }: Parts,
  command: Command,
  work: Work<O>,
  needs: Pick<TargetOptions, 'withoutFolder'> = {},
): Command {
  return addTarget(command).action(async (...given: unknown[]) => {
    // Commander gives a word for each argument, words for one that takes several, and after them its own.
    const words = given
      .slice(0, command.registeredArguments.length)
      .flat()
      .filter((one) => typeof one === 'string');
    const options = command.opts<O & TargetOptions>();
    const context = contextOf(around, options);
    try {
      await withApi({ ...options, ...needs }, context, stop, (api) => work(words, { api, options, context, stop }));
    } catch (problem) {
      throw words.length === 0 ? problem : withList(problem, command, context);
    }
    finish(EXIT_CODES.ok);
  });
}

/** The same for what is no matter of manifests: where nothing runs it works without a folder, too. */
export const withoutFolder = <O extends object>(parts: Parts, command: Command, work: Work<O>): Command =>
  throughApi(parts, command, work, { withoutFolder: true });

/** Said of a change where nothing runs. */
export const later = ({ running }: Pick<ManagementApi, 'running'>): string =>
  running ? '' : '; it is taken over when vmcp runs';
