import type { LocalProvider } from './local-provider.ts';

const PREFIX = 'VMCP_SECRET_';

/** Reads `VMCP_SECRET_<key>`, the same in every namespace. */
export function environmentProvider(environment: NodeJS.ProcessEnv): LocalProvider {
  return {
    type: 'environment',
    where: `set ${PREFIX}<key> and start vmcp again`,
    list: () =>
      Promise.resolve(
        Object.keys(environment)
          .filter((name) => name.startsWith(PREFIX) && name.length > PREFIX.length)
          .map((name) => name.slice(PREFIX.length)),
      ),
    read: (_namespace, keys) =>
      Promise.resolve(
        new Map(
          keys.flatMap((key): [string, string][] => {
            const value = environment[`${PREFIX}${key}`];
            return value === undefined ? [] : [[key, value]];
          }),
        ),
      ),
    setUp: () => Promise.resolve(undefined),
  };
}
