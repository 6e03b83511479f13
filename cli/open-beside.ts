import { readLock } from '#local/lock';
import type { LocalStatusFile } from '#local/local-status-file';
import { KeepClients } from '#management/clients/keep-clients';
import { localClients } from '#management/clients/local-clients';
import type { LocalSecrets } from '#management/secrets/local-secrets';
import { systemClock } from '#operator/queue';
import type { Context } from './context.ts';

export async function openBeside(statusFile: LocalStatusFile, context: Context, secrets: LocalSecrets) {
  const { state, environment, err } = context;
  const folder = readLock(state)?.folder ?? '';
  const keep = new KeepClients({
    clientsOf: (namespace) => localClients({ state, folder, environment }, namespace),
    clock: systemClock,
    onProblem: (text) => void err.write(`${text}\n`),
  });
  statusFile.listen(({ resources }) => keep.changed(resources.map(({ key }) => key.namespace)));
  // Loaded on demand: other commands start faster without the HTTP server.
  const { openManagement } = await import('./open-management.ts');
  const management = await openManagement(context, secrets);
  return {
    async close() {
      await keep.close();
      await management?.close();
    },
  };
}
