import { STORED_SECRET } from '#crds/parts/defaults';
import { createSecret, deleteSecret } from '#management/operations/secrets';
import type { ProviderType } from '#management/secrets/secrets';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { ManagementApi } from '../management/management-api.ts';
import { keysToWrite, storedKeys } from '../secrets/secrets-provider.ts';
import type { Values } from './gather-values.ts';

interface StoredSecrets {
  /** Maps a variable or header to `<secret>/<key>`. */
  references: Map<string, string>;
  /** Removes only new secrets. */
  undo: () => Promise<void>;
}

/** Stores `<workload>.<name>`. Earlier secrets stay: the new workload may be refused, and others may use them. @throws CliError */
export async function storeSecrets(
  api: ManagementApi,
  workload: string,
  secrets: Values['secrets'],
  context: Pick<Context, 'environment' | 'err' | 'typed'>,
  provider: ProviderType,
): Promise<StoredSecrets> {
  const references = new Map<string, string>();
  const made: string[] = [];
  const undo = async (): Promise<void> => {
    for (const key of made.splice(0)) await api.call(deleteSecret, { params: { key } });
  };
  if (secrets.size === 0) return { references, undo };
  const isNew = [...secrets.values()].some((from) => 'value' in from);
  const known = isNew ? await keysToWrite(api, provider, context) : ((await storedKeys(api)) ?? new Set<string>());
  try {
    for (const [name, from] of secrets) {
      const key = 'key' in from ? from.key : freeKey(`${workload}.${name}`, known, context);
      if ('key' in from) checkKnown(key, known);
      else {
        await api.call(createSecret, { body: { key, value: from.value } });
        made.push(key);
      }
      references.set(name, `${STORED_SECRET}/${key}`);
    }
  } catch (problem) {
    await undo().catch(() => undefined);
    throw problem;
  }
  return { references, undo };
}

function freeKey(key: string, known: ReadonlySet<string>, { err, typed }: Pick<Context, 'err' | 'typed'>): string {
  if (!known.has(key)) return key;
  err.write(`the stored secret ${key} stays as it is; where nothing needs it any more: ${typed(`secret rm ${key}`)}\n`);
  for (let number = 2; ; number += 1) if (!known.has(`${key}-${number}`)) return `${key}-${number}`;
}

function checkKnown(key: string, known: ReadonlySet<string>): void {
  if (known.has(key)) return;
  const there = [...known].join(', ') || 'none';
  throw new CliError(EXIT_CODES.notFound, `there is no stored secret ${key} (there is: ${there})`);
}
