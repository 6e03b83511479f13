import type { Command } from 'commander';
import { contextOf, type Parts } from '../command-parts.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { ManagementApi } from './management-api.ts';
import { withApi } from './open-api.ts';
import { addTarget, type TargetOptions } from './target.ts';

interface Task<O> {
  api: ManagementApi;
  options: O;
  context: Context;
  stop: AbortSignal;
}

type Work<O> = (words: string[], task: Task<O & TargetOptions>) => Promise<void>;

const LISTS = new Map([
  ['workload', 'list --all'],
  ['group', 'group list'],
  ['client', 'client list'],
  ['key', 'secret list'],
  ['skill', 'skill list'],
  ['entry', 'registry search'],
]);

function withList(problem: unknown, command: Command, { typed }: Pick<Context, 'typed'>): unknown {
  const list = LISTS.get(command.registeredArguments[0]?.name() ?? '');
  if (list === undefined || !(problem instanceof CliError) || problem.exitCode !== EXIT_CODES.notFound) return problem;
  return new CliError(problem.exitCode, `${problem.message}; "${typed(list)}" shows what there is`, { cause: problem });
}

export function throughApi<O extends object>(
  { deps, stop, finish }: Parts,
  command: Command,
  work: Work<O>,
  needs: Pick<TargetOptions, 'withoutFolder'> = {},
): Command {
  return addTarget(command).action(async (...given: unknown[]) => {
    // Commander passes a string for each argument, an array for a variadic one, and then its own objects.
    const words = given
      .slice(0, command.registeredArguments.length)
      .flat()
      .filter((one) => typeof one === 'string');
    const options = command.opts<O & TargetOptions>();
    const context = contextOf(deps, options);
    try {
      await withApi({ ...options, ...needs }, context, stop, (api) => work(words, { api, options, context, stop }));
    } catch (problem) {
      throw words.length === 0 ? problem : withList(problem, command, context);
    }
    finish(EXIT_CODES.ok);
  });
}

/** If no server runs, the command works without a folder. */
export const withoutFolder = <O extends object>(parts: Parts, command: Command, work: Work<O>): Command =>
  throughApi(parts, command, work, { withoutFolder: true });

export const later = ({ running }: Pick<ManagementApi, 'running'>): string =>
  running ? '' : '; it is taken over when vmcp runs';
