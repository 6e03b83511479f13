import { type LocalStatus, OtherVersion, readLocalStatus } from '#local/local-status-file';
import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { nothingRuns, startAgain } from './nothing-runs.ts';

/** @throws CliError when no `vmcp up` runs */
export function runningStatus(context: Context): LocalStatus {
  const { state, typed } = context;
  try {
    const localStatus = readLocalStatus(state);
    if (localStatus) return localStatus;
  } catch (problem) {
    if (!(problem instanceof OtherVersion)) throw problem;
    const remedy = `run "${typed('down')}", then "${startAgain(context) ?? typed('up')}"`;
    throw new CliError(EXIT_CODES.failed, `${problem.message}: ${remedy}`, { cause: problem });
  }
  throw nothingRuns(context);
}
