import { lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FileLock, LockBusy } from '#operator/local/file-lock';
import { Problem } from '../problem.ts';

/** Room for the files of one skill after the other, whatever the namespace, as a pod has little of it. One for a process. */
export class ClusterRoom {
  readonly #folder: string;
  readonly #lock: FileLock;

  /**
   * @param folder for files that go again, in which others may write
   * @param patience milliseconds that one may wait for the others; those of the lock without
   */
  constructor(folder: string, patience?: number) {
    this.#folder = join(folder, `vmcp-skills-${process.getuid?.() ?? 'own'}`);
    this.#lock = new FileLock(join(this.#folder, '.lock'), patience === undefined ? {} : { deadline: patience });
  }

  /** Gives a folder of ours. @throws Problem `busy`, or `internal` where somebody else was faster to make one of that name */
  async run<T>(work: (staging: string) => Promise<T>): Promise<T> {
    await makeOwnFolder(this.#folder);
    try {
      return await this.#lock.run(() => work(join(this.#folder, 'staging')));
    } catch (error) {
      if (error instanceof LockBusy) throw new Problem('busy', 'other skills are being looked at: try again');
      throw error;
    }
  }
}

/** Who else could write there could change what was checked. */
async function makeOwnFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => undefined);
  const found = await lstat(folder);
  const isOurs = found.isDirectory() && found.uid === (process.getuid?.() ?? found.uid) && (found.mode & 0o022) === 0;
  if (!isOurs) throw new Problem('internal', `${folder} is not a folder of this user alone: remove it`);
}
