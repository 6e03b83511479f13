import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
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
