import { join } from 'node:path';
import { FileLock } from '#lib/files/file-lock';
import { readLock } from '#local/lock';
import { folderResources } from '#management/stores/folder-resources';
import { ManifestFiles } from '#management/stores/manifest-files';
import { problemOf } from '#management/problem';
import { shownPath } from '../check-folder.ts';
import type { Context } from '../context.ts';
import { CliError } from '../exit-codes.ts';
import { folderOf } from '../management/open-api.ts';
import { Refusal } from '../management/refusal.ts';
import { checkNamesCluster, isCluster, type TargetOptions } from '../management/target.ts';
import type { Servers } from './servers.ts';

/** Opens the resources of a cluster, or the manifests of the folder that runs here or ran last. @throws CliError */
export async function withServers(
  options: TargetOptions,
  context: Context,
  work: (servers: Servers) => Promise<void>,
): Promise<void> {
  try {
    if (isCluster(options)) {
      const { withClusterServers } = await import('./cluster-servers.ts');
      await withClusterServers(options, work);
    } else {
      checkNamesCluster(options);
      await work(openFolder(options, context));
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new Refusal(problemOf(error).body, { cause: error });
  }
}

function openFolder({ folder, namespace = 'default' }: TargetOptions, context: Context): Servers {
  const { state } = context;
  const running = readLock(state);
  const path = running?.folder ?? folderOf(folder === undefined ? {} : { folder }, context);
  const files = new ManifestFiles(path, new FileLock(join(state.path, 'manifests.lock')));
  const resources = folderResources({ files, namespace, statusOf: () => undefined, now: Date.now });
  return { resources, place: shownPath(path), running: running !== undefined };
}
