import { constants } from 'node:fs';
import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { listTree } from './list-tree.ts';
import type { Space } from './skill-limits.ts';

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
