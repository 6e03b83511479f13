import { isAbsolute } from 'node:path';
import type { Manifest } from '#operator/snapshot';
import type { Known } from './build-snapshot.ts';
import { findAppendFlaw } from './find-append-flaw.ts';
import { listEnvFiles } from './list-env-files.ts';

/** A relative log file is below the folder in which its runtime runs. */
export function fileFacts(folderOf: (manifest: Manifest) => string): Pick<Known, 'envFiles' | 'appendFlaw'> {
  return {
    envFiles: listEnvFiles,
    // The path stays as written otherwise: a slash at its end, or ".." behind a link, has a meaning for the operating system.
    appendFlaw: (file, manifest) => findAppendFlaw(isAbsolute(file) ? file : `${folderOf(manifest)}/${file}`),
  };
}
