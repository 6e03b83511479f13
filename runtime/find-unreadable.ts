import { pathText } from '#crds/parts/explain';
import { ConfigError } from '#runtime/errors';
import { listFiles } from './list-files.ts';

export function findUnreadable(settings: unknown, read: (file: string) => unknown): ConfigError | undefined {
  for (const { file, path } of listFiles(settings)) {
    try {
      read(file);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return new ConfigError(`${pathText(path)}: ${error.message}`, { cause: error });
    }
  }
  return undefined;
}
