import { readFileSync, statSync } from 'node:fs';
import { codeOf } from '#lib/files/code-of';
import { listManifestFiles, readFolderContent, type FolderContent } from '#local/manifest-folder';
import type { ManifestFile } from '#local/resource';
import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { readGiven } from './read-given.ts';

/** Bytes. */
const LONGEST_INPUT = 32 * 1024 * 1024;

async function readPath(path: string, context: Pick<Context, 'input'>): Promise<ManifestFile[]> {
  if (path === '-') return [{ file: path, text: await readGiven(path, LONGEST_INPUT, context) }];
  try {
    if (!statSync(path).isDirectory()) return [{ file: path, text: readFileSync(path, 'utf8') }];
    const files = listManifestFiles(path);
    if (files.length > 0) return files;
  } catch (problem) {
    const code = codeOf(problem);
    if (code === undefined) throw problem;
    throw new CliError(EXIT_CODES.input, `${path} cannot be read (${code}): name a folder or files with manifests`);
  }
  throw new CliError(EXIT_CODES.input, `${path} holds no *.yaml file: name another folder`);
}

/** `-` means standard input. A file that is named twice counts once. */
export async function loadManifests(paths: string[], context: Pick<Context, 'input'>): Promise<FolderContent> {
  const files = new Map<string, ManifestFile>();
  for (const path of paths) for (const file of await readPath(path, context)) files.set(file.file, file);
  return readFolderContent([...files.values()]);
}
