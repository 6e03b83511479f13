import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { LocalFacts } from '#operator/world';

const ENGINES = ['podman', 'docker', 'nerdctl'] as const;

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The first container engine of a search path. */
export function findContainerEngine(searchPath: string): LocalFacts['containerEngine'] {
  const folders = searchPath.split(delimiter).filter((folder) => folder !== '');
  return ENGINES.find((engine) => folders.some((folder) => isProgram(join(folder, engine))));
}
