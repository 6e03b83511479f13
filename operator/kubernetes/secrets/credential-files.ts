import type { SecretSource } from '#operator/plan/outcome';

/** Base64 by file name, as a Secret has it. */
export type Files = Record<string, string>;

/** A Secret takes 1 MiB; beyond this, files that only old documents name are not kept. Bytes of base64, and of names. */
const LARGEST = 900_000;
/** Files of older documents that are kept: each edit of a server without pods leaves one. */
const MOST = 1000;

const sizeOf = (files: Files) =>
  Object.entries(files).reduce((sum, [file, text]) => sum + file.length + text.length, 0);

/** The files that a document names, with their content. */
export function collectFiles(
  secretFiles: Record<string, SecretSource>,
  valueOf: (source: SecretSource) => string,
): Files {
  return Object.fromEntries(Object.entries(secretFiles).map(([file, source]) => [file, valueOf(source)]));
}

/** Files whose names carry the hash of their content: those of older documents stay beside them while a pod may read one. */
export function keepOlder(files: Files, standing: Files | undefined, mayBeRead: boolean): Files {
  const all = { ...standing, ...files };
  const older = Object.keys(all).length - Object.keys(files).length;
  return mayBeRead && older <= MOST && sizeOf(all) <= LARGEST ? all : files;
}
