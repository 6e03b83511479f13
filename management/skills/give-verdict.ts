import { basename, isAbsolute, join } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { Problem } from '../problem.ts';
import { extractArchive } from './extract-archive.ts';
import { checkFolder, findRoot } from './fetch-skill.ts';
import { Space, unusable } from './skill-limits.ts';
import type { SkillVerdict } from './skills.ts';
import { withStaging } from './staging.ts';
import { validateSkill } from './validate-skill.ts';

interface WhatToValidate {
  path?: string | undefined;
  archive?: Buffer | undefined;
  signal: AbortSignal;
}

/** @throws Problem `bad_request`: neither folder nor archive can be read */
export async function giveVerdict(
  { path, archive, signal }: WhatToValidate,
  staging: string,
  space = new Space(),
): Promise<SkillVerdict> {
  if (path !== undefined) return verdictOf(await checkPlace(path), basename(path));
  if (archive === undefined) throw unusable('path or archive: both are missing; write one of them');
  return withStaging(staging, async (folder) => {
    const into = join(folder, '1');
    await mkdir(into);
    try {
      await extractArchive(archive, into, { signal, space });
    } catch (error) {
      if (error instanceof Problem) return { valid: false, errors: [error.message], warnings: [] };
      throw error;
    }
    const root = await findRoot(into, undefined);
    return verdictOf(root.folder, root.directory);
  });
}

async function checkPlace(path: string): Promise<string> {
  if (!isAbsolute(path)) throw unusable('path: is not absolute; write it from the root');
  await checkFolder('path', path);
  return path;
}

async function verdictOf(folder: string, directory: string | undefined): Promise<SkillVerdict> {
  const { errors, warnings } = await validateSkill(folder, directory);
  return { valid: errors.length === 0, errors, warnings };
}
