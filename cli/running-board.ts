import { type Board, OtherVersion, readBoard } from '#local/status-board';
import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { nothingRuns, startAgain } from './nothing-runs.ts';

/** Returns the report of the running `vmcp up`. @throws CliError when none runs */
export function runningBoard(context: Context): Board {
  const { state, typed } = context;
  try {
    const board = readBoard(state);
    if (board) return board;
  } catch (problem) {
    if (!(problem instanceof OtherVersion)) throw problem;
    const remedy = `run "${typed('down')}", then "${startAgain(context) ?? typed('up')}"`;
    throw new CliError(EXIT_CODES.failed, `${problem.message}: ${remedy}`, { cause: problem });
  }
  throw nothingRuns(context);
}
