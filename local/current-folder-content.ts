import { keyText, type Manifest, type ResourceKey } from '#operator/snapshot';
import { codeOf } from '#lib/files/write-file';
import type { StoredSecrets } from './stored-secrets.ts';
import { changesBetween, EMPTY, ManifestFolder, type FolderContent } from './manifest-folder.ts';

interface Version {
  text: string;
  generation: number;
}

type Stored = Pick<StoredSecrets, 'values' | 'problems'>;

/** The current resources of the folder, with version numbers, and the stored secrets. */
export class CurrentFolderContent {
  readonly #folder: ManifestFolder;
  readonly #path: string;
  readonly #stored: Stored;
  readonly #versions = new Map<string, Version>();
  #folderContent: FolderContent = EMPTY;

  constructor(folder: string, stored: Stored = { values: new Map(), problems: [] }) {
    this.#stored = stored;
    this.#path = folder;
    this.#folder = new ManifestFolder(folder);
  }

  get value(): FolderContent {
    return this.#folderContent;
  }

  /** Returns the keys of changed resources; while the folder is missing, the last snapshot stays valid. */
  refresh(): ResourceKey[] {
    const before = this.#folderContent;
    this.#folderContent = withStored(this.#read(), this.#stored);
    for (const manifest of this.#folderContent.manifests) this.#number(manifest);
    return changesBetween(before, this.#folderContent);
  }

  #read(): FolderContent {
    try {
      return this.#folder.read();
    } catch (problem) {
      const message = `cannot be read (${codeOf(problem) ?? 'unknown'}): its former content stays active`;
      return { ...this.#folderContent, problems: [{ file: this.#path, line: 1, path: '', message }] };
    }
  }

  #number(manifest: Manifest): void {
    const key = keyText({ kind: manifest.kind, ...manifest.metadata });
    const text = JSON.stringify(manifest.spec);
    const former = this.#versions.get(key);
    const generation = former === undefined ? 1 : former.generation + (former.text === text ? 0 : 1);
    this.#versions.set(key, { text, generation });
    manifest.metadata.generation = generation;
  }
}

/** Prefers a key of a Secret manifest to a stored one, because a user wrote it explicitly. */
export function withStored(folderContent: FolderContent, { values, problems }: Stored): FolderContent {
  if (values.size === 0 && problems.length === 0) return folderContent;
  const secrets = new Map(folderContent.secrets);
  for (const [place, stored] of values) secrets.set(place, { ...stored, ...folderContent.secrets.get(place) });
  return { ...folderContent, secrets, problems: [...folderContent.problems, ...problems] };
}
