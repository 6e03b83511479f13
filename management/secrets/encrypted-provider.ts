import type { EncryptedFile } from './encrypted-file.ts';
import type { LocalProvider } from './local-provider.ts';

export function encryptedProvider(file: EncryptedFile): LocalProvider {
  return {
    type: 'encrypted',
    where: file.path,
    list: async (namespace) => [...((await file.read()).get(namespace)?.keys() ?? [])],
    async read(namespace, keys) {
      const values = (await file.read()).get(namespace);
      return new Map(keys.flatMap((key) => entry(key, values?.get(key))));
    },
    setUp: (password) => file.setUp(password),
    update: (namespace, change) =>
      file.update((contents) => {
        const values = contents.get(namespace) ?? new Map<string, string>();
        change(values);
        if (values.size > 0) contents.set(namespace, values);
        else contents.delete(namespace);
      }),
  };
}

function entry(key: string, value: string | undefined): [string, string][] {
  return value === undefined ? [] : [[key, value]];
}
