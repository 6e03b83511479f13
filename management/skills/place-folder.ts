import { lstat, mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { codeOf } from '#lib/files/write-file';
import { copyTree, digestTree } from './list-tree.ts';
import { unusable } from './skill-limits.ts';

/** Names beside a target for unfinished work. They are hidden, so that clients do not read them as skills. */
const besides = (target: string, work: string) => ({
  made: join(dirname(target), `.${basename(target)}.${work}.new`),
  former: join(dirname(target), `.${basename(target)}.${work}.old`),
});

export async function prepareFolder(source: string, target: string, work: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  await copyTree(source, besides(target, work).made);
}

export async function discardPrepared(target: string, work: string): Promise<void> {
  await rm(besides(target, work).made, { recursive: true, force: true });
}

/** Can be repeated after a crash at any point. */
export async function placePrepared(target: string, work: string): Promise<void> {
  const { made, former } = besides(target, work);
  if (await isThere(made)) {
    await setAside(target, former);
    await rename(made, target);
  }
  await rm(former, { recursive: true, force: true });
}

/** Removes only the link itself of a link. Idempotent like `placePrepared`. */
export async function removeFolder(target: string, work: string): Promise<void> {
  const { former } = besides(target, work);
  await setAside(target, former);
  await rm(former, { recursive: true, force: true });
}

async function setAside(target: string, former: string): Promise<void> {
  if (!(await isThere(target))) return;
  await rm(former, { recursive: true, force: true });
  await rename(target, former);
}

export async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return false;
    throw error;
  }
}

export async function isUnchanged(target: string, content: string): Promise<boolean> {
  try {
    return (await lstat(target)).isDirectory() && (await digestTree(target)) === content;
  } catch {
    return false;
  }
}

/** Links in a project could redirect writes to another folder. @throws Problem `bad_request` */
export async function checkNoLinks(root: string, folder: string): Promise<void> {
  let path = root;
  for (const part of relative(root, folder).split(sep)) {
    path = join(path, part);
    if (!(await isThere(path))) return;
    if (!(await lstat(path)).isDirectory())
      throw unusable(
        `project_root: ${path} is a link or a file; make it a folder, so that it is clear where skills go`,
      );
  }
}
