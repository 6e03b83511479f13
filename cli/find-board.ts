import type { Context } from './context.ts';
import { checkNamesCluster, isCluster, type PlaceOptions } from './management/target.ts';
import { runningBoard } from './running-board.ts';
import type { ShownBoard } from './summarise-board.ts';

/**
 * Returns the endpoints of the cluster that the options name, else those that run here. @throws CliError without a running or readable
 * source
 */
export async function findBoard(options: PlaceOptions, context: Context): Promise<ShownBoard> {
  checkNamesCluster(options);
  if (isCluster(options)) {
    const { readClusterBoard } = await import('./management/read-cluster-board.ts');
    return readClusterBoard(options);
  }
  const board = runningBoard(context);
  const { namespace } = options;
  if (namespace === undefined) return board;
  return { ...board, resources: board.resources.filter(({ key }) => key.namespace === namespace) };
}
