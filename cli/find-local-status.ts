import { type LocalStatus, OtherVersion, readLocalStatus } from '#local/local-status-file';
import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { checkNamesCluster, isCluster, type ServerOptions } from './management/target.ts';
import { nothingRuns, startAgain } from './nothing-runs.ts';
import type { ShownStatus } from './summarise-status.ts';

/** Prefers the cluster that the options name. @throws CliError without a running or readable source */
export async function findLocalStatus(options: ServerOptions, context: Context): Promise<ShownStatus> {
  checkNamesCluster(options);
  if (isCluster(options)) {
    const { readClusterStatus } = await import('./management/read-cluster-status.ts');
    return readClusterStatus(options);
  }
  const localStatus = runningStatus(context);
  const { namespace } = options;
  if (namespace === undefined) return localStatus;
  return { ...localStatus, resources: localStatus.resources.filter(({ key }) => key.namespace === namespace) };
}

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
