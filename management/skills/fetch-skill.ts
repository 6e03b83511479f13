import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { codeOf } from '#lib/files/write-file';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import { Problem } from '../problem.ts';
import { copyTree } from './list-tree.ts';
import { fetchGit } from './fetch-git.ts';
import { fetchOci } from './fetch-oci.ts';
import { unusable } from './skill-limits.ts';
import type { SkillReference } from './skill-reference.ts';
import type { FetchedSkill, FetchRequest } from './skill-source.ts';

type Of<K extends SkillReference['kind']> = Extract<SkillReference, { kind: K }>;

/** @throws Problem `bad_request`, `path_not_available`, `source_failed` */
export async function fetchSkill(reference: SkillReference, request: FetchRequest): Promise<FetchedSkill> {
  try {
    switch (reference.kind) {
      case 'folder':
        return await fetchFolder(reference, request);
      case 'git':
        return await fetchGit(reference, request);
      case 'oci':
        return await fetchOci(reference, request);
    }
  } catch (error) {
    throw problemOfSource(error, request.signal);
  }
}

async function fetchFolder({ path }: Of<'folder'>, { rules, into, space }: FetchRequest): Promise<FetchedSkill> {
  if (!rules.localPaths)
    throw new Problem('path_not_available', 'name: in a cluster a skill comes as an archive or by a reference');
  const whole = resolve(path);
  await checkFolder('name', whole);
  await copyTree(whole, into, space);
  return { reference: whole, tag: undefined, digest: undefined, directory: basename(whole) };
}

/** `field` names the field of the request. @throws Problem `bad_request`: the folder is missing or unreadable */
export async function checkFolder(field: string, path: string): Promise<void> {
  try {
    if ((await stat(path)).isDirectory()) return;
  } catch (error) {
    throw unusable(`${field}: ${path} cannot be read (${codeOf(error) ?? 'unknown'}); write a folder that is there`);
  }
  throw unusable(`${field}: ${path} is no folder`);
}

export async function findRoot(
  folder: string,
  directory: string | undefined,
): Promise<{ folder: string; directory: string | undefined }> {
  const entries = await readdir(folder, { withFileTypes: true });
  const [only] = entries;
  if (entries.some(({ name }) => name === 'SKILL.md') || entries.length !== 1 || !only?.isDirectory())
    return { folder, directory };
  return { folder: join(folder, only.name), directory: only.name };
}

function problemOfSource(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted && !(error instanceof Problem))
    return new Problem('source_failed', 'name: its source did not give it in time', { cause: error });
  if (!(error instanceof FetchFailure)) return error;
  // The caller can correct a reference that the registry rejects, but not a registry that does not answer.
  const isCallers = error.kind === 'refused' || [401, 403, 404].includes(error.status ?? 0);
  return new Problem(isCallers ? 'bad_request' : 'source_failed', `name: ${error.message}`, { cause: error });
}
