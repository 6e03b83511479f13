import { statSync } from 'node:fs';
import { localServices } from '#management/local/local-services';
import { LocalSecrets } from '#management/secrets/local-secrets';
import { shownPath } from '../check-folder.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { inProcessApi } from './in-process-api.ts';
import type { ManagementApi } from './management-api.ts';
import type { TargetOptions } from './target.ts';

/** Expects an idle state folder. @throws CliError when the folder does not exist */
export function openFolderApi(
  folder: string,
  { namespace = 'default', withoutFolder = false }: TargetOptions,
  { state, version, environment, err, typed }: Context,
  stop: AbortSignal,
): ManagementApi {
  const place = shownPath(folder);
  if (!withoutFolder && !statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new CliError(
      EXIT_CODES.notRunning,
      `nothing runs here, and there is no folder ${place}: "${typed("run '<source>'")}" starts a server, and makes one`,
    );
  const services = localServices({
    state,
    folder,
    secrets: new LocalSecrets({ state, environment }),
    environment,
    version,
    onFailure: (text) => void err.write(`${text}\n`),
  })(namespace);
  return inProcessApi({
    services,
    place,
    running: false,
    onFailure: ({ message }) => void err.write(`${message}\n`),
    async close() {
      // Waits for background operations, because no other process would complete them.
      await services.operations.idle();
      await services.registries.close();
    },
    stop,
  });
}
