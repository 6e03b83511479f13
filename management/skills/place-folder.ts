import { lstat, mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { codeOf } from '#lib/files/code-of';
import { copyTree } from './copy-tree.ts';
import { digestTree } from './digest-tree.ts';
import { unusable } from './skill-limits.ts';

/** Names beside a target that work in progress has. Hidden, so that no client takes them for skills. */
const besides = (target: string, work: string) => ({
  made: join(dirname(target), `.${basename(target)}.${work}.new`),
  former: join(dirname(target), `.${basename(target)}.${work}.old`),
});

/** Makes what is to be at `target` beside it. */
export async function prepareFolder(source: string, target: string, work: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  await copyTree(source, besides(target, work).made);
}

/** Takes away what was prepared. */
export async function discardPrepared(target: string, work: string): Promise<void> {
  await rm(besides(target, work).made, { recursive: true, force: true });
}

/** What was prepared takes the place of what is there. It may be killed anywhere and done again: then the end is the same. */
export async function placePrepared(target: string, work: string): Promise<void> {
  const { made, former } = besides(target, work);
  if (await isThere(made)) {
    await setAside(target, former);
    await rename(made, target);
  }
  await rm(former, { recursive: true, force: true });
}

/** Takes away what is at `target`; a link goes itself, not what it leads to. May be done again as `placePrepared`. */
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

/** Whether a folder is still what was put there. */
export async function isUnchanged(target: string, content: string): Promise<boolean> {
  try {
    return (await lstat(target)).isDirectory() && (await digestTree(target)) === content;
  } catch {
    return false;
  }
}

/**
 * A project is somebody else's work: no link in it may lead what is written elsewhere.
 * @throws Problem `bad_request`
 */
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
