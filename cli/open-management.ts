import { readLock } from '#local/lock';
import { type OpenManagement, openLocalManagement } from '#management/local/open-local';
import type { LocalSecrets } from '#management/secrets/local-secrets';
import type { Context } from './context.ts';

/** Prints a failure; the endpoints then serve without the API. */
export async function openManagement(
  { state, version, environment, err }: Context,
  secrets: LocalSecrets,
): Promise<OpenManagement | undefined> {
  const onFailure = (text: string): void => void err.write(`management API: ${text}\n`);
  try {
    const { folder } = readLock(state) ?? {};
    if (folder === undefined) throw new Error(`${state.path} is not held by this process`);
    return await openLocalManagement({ state, folder, secrets, environment, version, onFailure });
  } catch (problem) {
    onFailure(problem instanceof Error ? problem.message : String(problem));
    return undefined;
  }
}
