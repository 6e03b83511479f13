import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { listTree, type TreeFile } from './list-tree.ts';

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
