/** Message for a path that names no regular file. */
export const NO_REGULAR_FILE = 'it is no regular file: name a file to append to';

/** Explains an error code of the operating system, from opening a file to append to it. Undefined: another code. */
export function explainAppend(code: string | undefined): string | undefined {
  if (code === 'ENXIO') return NO_REGULAR_FILE;
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return 'its folder does not exist: create the folder, or name another file';
  if (code === 'EISDIR') return 'it is a folder: name a file in it';
  if (code === 'EACCES' || code === 'EPERM') return 'this process may not write it: allow that, or name another file';
  if (code === 'ELOOP') return 'its symbolic links form a loop: mend them, or name another file';
  if (code === 'ENAMETOOLONG') return 'its path is too long: name another file';
  if (code === 'EROFS') return 'its file system is read-only: name a file elsewhere';
  return undefined;
}

/** Paths of standard streams. They have a reader, so they may be pipes. */
export const STANDARD_STREAMS: ReadonlySet<string> = new Set(['/dev/stdout', '/dev/stderr']);
