import { existsSync } from 'node:fs';
import { readLock, takeLock } from '#local/lock';
import { emptyDatabases, forgetIdentity, stateFiles, removeStateFiles } from '#local/state-files';
import { EMPTY, listManifestFiles, readFolderContent, type FolderContent } from '#local/manifest-folder';
import { codeOf, readIfThere } from '#lib/files/write-file';
import { LocalSecrets } from '#management/secrets/local-secrets';
import { STORED_SECRET } from '#crds/parts/defaults';
import { keyText, type Manifest } from '#operator/snapshot';
import { shownPath } from '../check-folder.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { TargetOptions } from '../management/target.ts';
import { type Amount, isServer, type ServerKey, shownServer, type Stored } from './stored.ts';
import {
  authConfigNameOf,
  placesOfNeighbour,
  secretFile,
  type WrittenKeys,
  findWrittenKeys,
} from './find-written-keys.ts';

/** Reads the running, the last or the named folder; a missing one is empty. */
function readFolder(folder: string | undefined): FolderContent {
  if (folder === undefined) return EMPTY;
  try {
    return readFolderContent(listManifestFiles(folder));
  } catch (problem) {
    if (codeOf(problem) === 'ENOENT') return EMPTY;
    throw problem;
  }
}

function authConfigOf(manifest: Manifest, { manifests }: FolderContent): Manifest | undefined {
  const { namespace } = manifest.metadata;
  const name = authConfigNameOf(manifest);
  return manifests.find(
    ({ kind, metadata }) =>
      kind === 'MCPExternalAuthConfig' && metadata.name === name && metadata.namespace === namespace,
  );
}

interface RemainingFiles {
  manifest: Manifest | undefined;
  folderContent: FolderContent;
  folder: string | undefined;
  isRunning: boolean;
}

function whyRemaining(
  key: ServerKey,
  { manifest, folderContent, folder = '', isRunning }: RemainingFiles,
): string | undefined {
  const name = shownServer(key);
  const [problem] = folderContent.problems;
  if (manifest) {
    const source = folderContent.sources.get(keyText(key));
    const at = source ? `${shownPath(source.file)}:${source.line}` : shownPath(folder);
    return isRunning ? `${name} runs here (${at})` : `${name} is still there (${at})`;
  }
  if (!problem) return undefined;
  return `${shownPath(problem.file)}:${problem.line} cannot be read, and it may still name ${name}`;
}

async function readSecrets(
  { secrets }: FolderContent,
  places: readonly WrittenKeys[],
  namespace: string,
  { state, environment }: Context,
): Promise<(file: string) => string> {
  const references = places.flatMap((place) => place.references);
  const keys = references.filter(({ name }) => name === STORED_SECRET).map(({ key }) => key);
  const stored =
    keys.length === 0
      ? new Map<string, string>()
      : await new LocalSecrets({ state, environment }).read(namespace, keys);
  const values = new Map(
    references.map((reference) => {
      const { name, key } = reference;
      const value = name === STORED_SECRET ? stored.get(key) : secrets.get(`${namespace}/${name}`)?.[key];
      return [secretFile(reference), value] as const;
    }),
  );
  return (file) => {
    const value = values.get(file);
    if (value !== undefined) return value;
    throw new CliError(
      EXIT_CODES.input,
      `the manifest names the Secret ${file}, which is not there: write --password-file`,
    );
  };
}

export async function findLocally(key: ServerKey, options: TargetOptions, context: Context): Promise<Stored> {
  const { state } = context;
  const lock = readLock(state);
  const folder = lock?.folder ?? options.folder ?? readIfThere(state.lastFolder);
  const folderContent = readFolder(folder);
  const text = keyText(key);
  const manifest = folderContent.manifests.find(({ kind, metadata }) => keyText({ kind, ...metadata }) === text);
  const written = manifest ? findWrittenKeys(manifest, authConfigOf(manifest, folderContent)) : [];
  const isRunning = lock !== undefined && manifest !== undefined;
  const neighbours = folderContent.manifests
    .filter((one) => isServer(one) && one !== manifest)
    .map((one) => ({
      shown: `${one.metadata.namespace}/${one.metadata.name}`,
      places: placesOfNeighbour(one, authConfigOf(one, folderContent)),
    }));
  return {
    standing: whyRemaining(key, { manifest, folderContent, folder, isRunning }),
    written,
    neighbours,
    readSecret: await readSecrets(folderContent, written, key.namespace, context),
    files: amountsOf(state, key, isRunning),
    removeFiles: () => removeFiles(state, key, { isRunning, folder, pid: lock?.pid }),
    remedy: () => 'start it, or name another address with --redis-address',
  };
}

/** A running server has its files open, and needs its keys. */
function amountsOf(state: Context['state'], key: ServerKey, isRunning: boolean): Amount[] {
  return stateFiles(state, key).flatMap(({ path, rows }) => {
    const where = shownPath(path);
    const inside = Object.entries(rows).map(([what, count]) => ({ where, what, count }));
    return isRunning ? inside : [...inside, { where, what: 'file', count: 1 }];
  });
}

function removeFiles(
  state: Context['state'],
  key: ServerKey,
  { isRunning, folder = '', pid }: Pick<RemainingFiles, 'isRunning' | 'folder'> & { pid: number | undefined },
): void {
  if (readLock(state)?.pid !== pid)
    throw new CliError(EXIT_CODES.alreadyRunning, 'vmcp was started or stopped here meanwhile: do it again');
  if (isRunning) emptyDatabases(state, key);
  else if (pid !== undefined) removeStateFiles(state, key);
  else removeAll(state, key, folder);
}

function removeAll(state: Context['state'], key: ServerKey, folder: string): void {
  if (!existsSync(state.path)) return;
  // The lock keeps a server from starting during the purge.
  const giveBack = takeLock(state, folder, '');
  try {
    removeStateFiles(state, key);
    forgetIdentity(state, key);
  } finally {
    giveBack();
  }
}
