import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { CONTAINER_ENGINES, type ContainerEngine } from '#operator/snapshot';

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

export function findContainerEngine(searchPath: string): ContainerEngine | undefined {
  const folders = searchPath.split(delimiter).filter((folder) => folder !== '');
  return CONTAINER_ENGINES.find((engine) => folders.some((folder) => isProgram(join(folder, engine))));
}
