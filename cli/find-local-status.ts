import type { Context } from './context.ts';
import { checkNamesCluster, isCluster, type PlaceOptions } from './management/target.ts';
import { runningStatus } from './running-status.ts';
import type { ShownStatus } from './summarise-status.ts';

/** Prefers the cluster that the options name. @throws CliError without a running or readable source */
export async function findLocalStatus(options: PlaceOptions, context: Context): Promise<ShownStatus> {
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
