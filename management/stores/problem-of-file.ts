import { codeOf } from '#lib/files/write-file';
import { LockBusy } from '#lib/files/file-lock';
import { Problem } from '../problem.ts';

const SAID: Record<string, string> = {
  EACCES: 'it may not be read or written by this user: change its owner or mode',
  EPERM: 'it may not be read or written by this user: change its owner or mode',
  EROFS: 'it lies on a file system that cannot be written: choose another folder with --state',
  ENOSPC: 'the disk is full: make room',
  EDQUOT: 'the disk quota is used up: make room',
  EISDIR: 'it is a folder: move it away',
  ENOTDIR: 'a folder on its path is a file: move it away',
  ELOOP: 'its links lead in a circle: remove them',
  ENAMETOOLONG: 'its path is too long: choose another folder with --state',
};

function pathOf(problem: object): string {
  return 'path' in problem && typeof problem.path === 'string' ? problem.path : 'the file';
}

/** Names the file; returns other values unchanged. */
export function problemOfFile(problem: unknown): unknown {
  if (problem instanceof Problem) return problem;
  if (problem instanceof LockBusy) return new Problem('unavailable', problem.message, { cause: problem });
  const said = SAID[codeOf(problem) ?? ''];
  if (said === undefined || typeof problem !== 'object' || problem === null) return problem;
  return new Problem('internal', `${pathOf(problem)}: ${said}`, { cause: problem });
}

/** Runs work on files, and throws its failures as `problemOfFile` returns them. */
export async function withFileProblems<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (problem) {
    throw problemOfFile(problem);
  }
}
