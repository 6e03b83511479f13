import { readIfThere } from '#lib/files/write-file';
import { shownPath } from './check-folder.ts';
import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { quoted } from './name-program.ts';

export function startAgain({ state, typed }: Pick<Context, 'state' | 'typed'>): string | undefined {
  const last = readIfThere(state.lastFolder);
  return last === undefined ? undefined : typed(`up ${quoted(shownPath(last))}`);
}

export function nothingRuns(context: Pick<Context, 'state' | 'typed'>, more = ''): CliError {
  const { state, typed } = context;
  const again = startAgain(context);
  const remedy =
    again === undefined
      ? `start a server with "${typed("run '<source>'")}", or a folder with "${typed("up '<folder with manifests>'")}"`
      : `start it with "${again}"`;
  return new CliError(EXIT_CODES.notRunning, `nothing runs here (${state.path}): ${remedy}${more}`);
}
