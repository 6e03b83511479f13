import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { checkPath, SeenPaths } from './check-path.ts';
import { SkillBudget, Space, unusable } from './skill-limits.ts';

export interface TreeFile {
  /** Separated by `/`. */
  path: string;
  isProgram: boolean;
}

/** Sorts by path. Rejects links, devices and other special files, and anything beyond the limits. @throws Problem `bad_request` */
export async function listTree(folder: string, space = new Space()): Promise<TreeFile[]> {
  const budget = new SkillBudget(space);
  const seen = new SeenPaths(budget);
  const files: TreeFile[] = [];
  const walk = async (parts: readonly string[]): Promise<void> => {
    for (const entry of await readdir(join(folder, ...parts), { withFileTypes: true })) {
      const path = [...parts, entry.name].join('/');
      const checked = checkPath(path);
      if (entry.isDirectory()) {
        seen.addFolder(checked);
        await walk(checked);
      } else if (entry.isFile()) {
        seen.addFile(checked);
        const { size, mode } = await stat(join(folder, ...checked));
        budget.addBytes(size);
        files.push({ path, isProgram: (mode & 0o111) !== 0 });
      } else throw unusable(`${JSON.stringify(path)} is a link or a device: a skill has files and folders alone`);
    }
  };
  await walk([]);
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** @throws Problem `bad_request` for anything that is not a file or folder */
export async function copyTree(from: string, to: string, space?: Space): Promise<void> {
  const files = await listTree(from, space);
  await mkdir(to, { recursive: true, mode: 0o755 });
  for (const { path, isProgram } of files) {
    const target = join(to, ...path.split('/'));
    await mkdir(dirname(target), { recursive: true, mode: 0o755 });
    await copyFile(join(from, ...path.split('/')), target, constants.COPYFILE_EXCL);
    await chmod(target, isProgram ? 0o755 : 0o644);
  }
}

/** Returns `sha256:` and hex of a line per file, sorted by path: executable or not, digest, path as JSON. @throws Problem `bad_request` */
export async function digestTree(folder: string, files?: readonly TreeFile[]): Promise<string> {
  const whole = createHash('sha256');
  for (const { path, isProgram } of files ?? (await listTree(folder))) {
    const one = createHash('sha256');
    await pipeline(createReadStream(join(folder, ...path.split('/'))), one);
    whole.update(`${isProgram ? 'x' : '-'} ${one.digest('hex')} ${JSON.stringify(path)}\n`);
  }
  return `sha256:${whole.digest('hex')}`;
}
