import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { codeOf, flushFolder, readIfThere, unfinished } from '#lib/files/write-file';
import type { FileLock } from '#lib/files/file-lock';
import { ManifestFolder, type FolderContent } from '#local/manifest-folder';
import { keyText, type ResourceKey } from '#operator/snapshot';
import { Problem } from '../problem.ts';
import { CannotEdit, documentsOf, editDocument, newDocument, removeDocument } from './edit-document.ts';
import { valueOf } from './merge-node.ts';
import { problemOfFile, withFileProblems } from './problem-of-file.ts';

const ATTEMPTS = 5;

type Document = Record<string, unknown>;

const Head = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});

/** Users edit them, too. One writer at a time among all processes of this state folder. */
export class ManifestFiles {
  readonly #folder: string;
  readonly #lock: FileLock;
  readonly #manifests: ManifestFolder;

  constructor(folder: string, lock: FileLock) {
    this.#folder = folder;
    this.#lock = lock;
    this.#manifests = new ManifestFolder(folder);
  }

  /** Keeps the last valid content of a file that is no longer valid YAML. */
  read(): FolderContent {
    try {
      return this.#manifests.read();
    } catch (problem) {
      if (codeOf(problem) !== 'ENOENT') throw problemOfFile(problem);
      throw new Problem('unavailable', `the folder ${this.#folder} is not there: bring it back`, { cause: problem });
    }
  }

  /** Removes the document if `how` returns undefined. Returns undefined when the resource does not exist. @throws Problem */
  async change(
    key: ResourceKey,
    how: (said: Document) => Document | undefined,
    force = false,
  ): Promise<{ before: Document; after: Document | undefined } | undefined> {
    return this.#alone(() => {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const source = this.read().sources.get(keyText(key));
        if (!source) return undefined;
        const text = readIfThere(source.file) ?? '';
        const [index, before] = this.#documentOf(source.file, text, key);
        const after = how(structuredClone(before));
        const edited = edit(source.file, () =>
          after === undefined ? removeDocument(text, index) : editDocument(text, index, after, force),
        );
        const left = edited.trim() === '' ? undefined : edited;
        if (edited === text || writeManifest(source.file, text, left)) return { before, after };
      }
      throw new Problem('busy', `a manifest of ${this.#folder} is being changed all the time: try again`);
    });
  }

  /** Writes a file of its own. Returns false when another writer was faster. */
  async add(document: Document, { key, name }: { key: ResourceKey; name: string }): Promise<boolean> {
    return this.#alone(() => {
      if (this.read().sources.has(keyText(key))) return false;
      for (let number = 1; number < 1000; number += 1) {
        const file = join(this.#folder, `${name}${number === 1 ? '' : `-${number}`}.yaml`);
        if (!existsSync(file) && writeManifest(file, undefined, newDocument(document))) return true;
      }
      throw new Problem('busy', `every name of a file for "${name}" is taken in ${this.#folder}: remove some`);
    });
  }

  /** Prefers the first of two documents for one resource, as the running vmcp does. */
  #documentOf(file: string, text: string, key: ResourceKey): [number, Document] {
    for (const [index, document] of documentsOf(text).entries()) {
      if (document.errors.length > 0) break;
      const value = valueOf(document.contents, document);
      const head = Head.safeParse(value).data;
      const { name, namespace = 'default' } = head?.metadata ?? { name: '' };
      if (head?.kind === key.kind && name === key.name && namespace === key.namespace) return [index, { ...head }];
    }
    throw new Problem(
      'store_damaged',
      `${basename(file)} cannot be read as YAML now: mend it, "vmcp validate" says where`,
    );
  }

  #alone<T>(work: () => T): Promise<T> {
    return withFileProblems(() => this.#lock.run(work));
  }
}

function edit(file: string, how: () => string): string {
  try {
    return how();
  } catch (cause) {
    if (!(cause instanceof CannotEdit)) throw cause;
    const remedy = 'mend it by hand, or write the document anew with force=true, which loses its comments';
    throw new Problem('conflict', `${basename(file)} cannot be edited without loss, as ${cause.message}: ${remedy}`, {
      cause,
    });
  }
}

const NEW_FILE = 0o644;

function targetOf(file: string): string {
  try {
    return realpathSync(file);
  } catch (problem) {
    if (codeOf(problem) === 'ENOENT') return file;
    throw problem;
  }
}

/**
 * Returns false if the text is no longer `before` (undefined: missing). `after` undefined removes the file. Keeps mode
 * and links; the former text is removed only after the new one is on disk.
 */
function writeManifest(file: string, before: string | undefined, after: string | undefined): boolean {
  const target = targetOf(file);
  if (after === undefined) return remove(target, before);
  const temporary = unfinished(target);
  try {
    const descriptor = openSync(temporary, 'wx', statSync(target, { throwIfNoEntry: false })?.mode ?? NEW_FILE);
    try {
      writeFileSync(descriptor, after);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (readIfThere(target) !== before) return false;
    renameSync(temporary, target);
  } finally {
    rmSync(temporary, { force: true });
  }
  flushFolder(dirname(target));
  return true;
}

function remove(target: string, before: string | undefined): boolean {
  if (readIfThere(target) !== before) return false;
  rmSync(target, { force: true });
  flushFolder(dirname(target));
  return true;
}
