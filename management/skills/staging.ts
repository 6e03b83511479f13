import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunning, startOf } from '#local/process-identity';

/** Removes the folders of killed processes, too. */
export async function withStaging<T>(parent: string, work: (folder: string) => Promise<T>): Promise<T> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  for (const name of await readdir(parent)) {
    const [pid = '', started = ''] = name.split('.');
    const owner = { pid: Number(pid), started: Buffer.from(started, 'base64url').toString() };
    if (!isRunning(owner)) await rm(join(parent, name), { recursive: true, force: true });
  }
  const mark = Buffer.from(startOf(process.pid) ?? '').toString('base64url');
  const folder = join(parent, `${process.pid}.${mark}.${randomBytes(6).toString('hex')}`);
  await mkdir(folder, { mode: 0o700 });
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
