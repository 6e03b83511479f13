import { resolve } from 'node:path';
import { readLock } from '#local/lock';
import { readIfThere } from '#lib/files/write-file';
import { shownPath } from '../check-folder.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { nothingRuns } from '../nothing-runs.ts';
import { httpApi } from './http-api.ts';
import type { ManagementApi } from './management-api.ts';
import { checkNamesCluster, isCluster, type TargetOptions, USUAL_FOLDER } from './target.ts';

/** Prefers a named cluster to the server on the state folder, then the folder of manifests. @throws CliError when none exists */
async function openApi(options: TargetOptions, context: Context, stop: AbortSignal): Promise<ManagementApi> {
  if (isCluster(options)) {
    const { openClusterApi } = await import('./open-cluster-api.ts');
    return openClusterApi(options, context, stop);
  }
  checkNamesCluster(options);
  const running = openRunning(options, context, stop);
  if (running) return running;
  const { openFolderApi } = await import('./open-folder-api.ts');
  return openFolderApi(folderOf(options, context), options, context, stop);
}

export async function withApi<T>(
  options: TargetOptions,
  context: Context,
  stop: AbortSignal,
  work: (api: ManagementApi) => Promise<T>,
): Promise<T> {
  const api = await openApi(options, context, stop);
  try {
    return await work(api);
  } finally {
    await api.close();
  }
}

function openRunning(
  { folder, namespace }: TargetOptions,
  { state, typed }: Context,
  stop: AbortSignal,
): ManagementApi | undefined {
  const lock = readLock(state);
  if (!lock) return undefined;
  if (folder !== undefined && resolve(folder) !== lock.folder) {
    const remedy = `leave --folder out, or name another state folder with --state`;
    throw new CliError(EXIT_CODES.alreadyRunning, `${shownPath(lock.folder)} runs here, not ${folder}: ${remedy}`);
  }
  const address = readIfThere(state.managementAddress);
  const token = readIfThere(state.managementToken);
  if (address === undefined || token === undefined) {
    throw new CliError(
      EXIT_CODES.notRunning,
      `${shownPath(lock.folder)} runs here, but its management API does not (yet): try again, or see "${typed('logs vmcp')}"`,
    );
  }
  return httpApi({ address, token, namespace, place: shownPath(lock.folder), stop });
}

export function folderOf(
  { folder, withoutFolder = false }: Pick<TargetOptions, 'folder' | 'withoutFolder'>,
  context: Context,
): string {
  const chosen = folder ?? readIfThere(context.state.lastFolder) ?? (withoutFolder ? USUAL_FOLDER : undefined);
  if (chosen !== undefined) return resolve(chosen);
  throw nothingRuns(context, '; name a folder that does not run with --folder, or a cluster with --context');
}
