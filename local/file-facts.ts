import { resolve } from 'node:path';
import type { Manifest } from '#operator/snapshot';
import type { Known } from './build-snapshot.ts';
import { findAppendFlaw } from './find-append-flaw.ts';
import { listEnvFiles } from './list-env-files.ts';

/** Looks at files of this machine that manifests name. A relative log file is below the folder in which its runtime runs. */
export function fileFacts(folderOf: (manifest: Manifest) => string): Pick<Known, 'envFiles' | 'appendFlaw'> {
  return {
    envFiles: listEnvFiles,
    appendFlaw: (file, manifest) => findAppendFlaw(resolve(folderOf(manifest), file)),
  };
}
