import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { listTree, type TreeFile } from './list-tree.ts';

/**
 * Returns the digest of a folder, `sha256:` and hex. It covers one line for each file, sorted by path: executable or not, its digest, its
 * path as JSON. Equal digests mean equal skills. @throws Problem `bad_request`
 */
export async function digestTree(folder: string, files?: readonly TreeFile[]): Promise<string> {
  const whole = createHash('sha256');
  for (const { path, isProgram } of files ?? (await listTree(folder))) {
    const one = createHash('sha256');
    await pipeline(createReadStream(join(folder, ...path.split('/'))), one);
    whole.update(`${isProgram ? 'x' : '-'} ${one.digest('hex')} ${JSON.stringify(path)}\n`);
  }
  return `sha256:${whole.digest('hex')}`;
}
