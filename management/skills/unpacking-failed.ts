import { FetchFailure } from '../fetching/fetch-failure.ts';
import { Problem } from '../problem.ts';
import { unusable } from './skill-limits.ts';

/** Returns errors of the archive libraries as a problem of the archive; other errors concern the disk or the source. */
export function unpackingFailed(error: unknown): unknown {
  if (error instanceof Problem || error instanceof FetchFailure) return error;
  const isLibrarys = typeof error === 'object' && error !== null && 'message' in error && !('syscall' in error);
  return isLibrarys ? unusable(`the archive cannot be unpacked: ${String(error.message)}`) : error;
}
