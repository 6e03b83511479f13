import type { SecretSource } from '#operator/plan/outcome';

/** Base64 by file name, as in a Secret. */
export type Files = Record<string, string>;

/** Bytes of base64 and names. A Secret takes 1 MiB; beyond this limit, files of older documents are removed. */
const LARGEST = 900_000;
/** Most files of older documents: each edit of a server without pods leaves one. */
const MOST = 1000;

const sizeOf = (files: Files) =>
  Object.entries(files).reduce((sum, [file, text]) => sum + file.length + text.length, 0);

export function collectFiles(
  secretFiles: Record<string, SecretSource>,
  valueOf: (source: SecretSource) => string,
): Files {
  return Object.fromEntries(Object.entries(secretFiles).map(([file, source]) => [file, valueOf(source)]));
}

/** Adds the files of older documents while a pod may read one. The file names contain the hash of the content. */
export function keepOlder(files: Files, standing: Files | undefined, mayBeRead: boolean): Files {
  const all = { ...standing, ...files };
  const older = Object.keys(all).length - Object.keys(files).length;
  return mayBeRead && older <= MOST && sizeOf(all) <= LARGEST ? all : files;
}
