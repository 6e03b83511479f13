import { FetchFailure } from '../fetching/fetch-failure.ts';
import { Problem } from '../problem.ts';
import { unusable } from './skill-limits.ts';

/** Errors of the archive libraries concern the archive; others concern the disk or the source. */
export function unpackingFailed(error: unknown): unknown {
  if (error instanceof Problem || error instanceof FetchFailure) return error;
  const isLibrarys = typeof error === 'object' && error !== null && 'message' in error && !('syscall' in error);
  return isLibrarys ? unusable(`the archive cannot be unpacked: ${String(error.message)}`) : error;
}
