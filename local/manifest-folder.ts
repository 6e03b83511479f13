import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyText, type Manifest, parseKey, type ResourceKey } from '#operator/snapshot';
import { type ParsedFile, parseFile, parseManifests } from './read-manifests.ts';
import type { ManifestFile, Problem, Resource, Source } from './resource.ts';

const NAMESPACE = 'default';

/** Holds Secret values, so it never leaves the local platform. */
export interface FolderContent {
  manifests: Manifest[];
  /** Maps `<namespace>/<name>` to values by key. */
  secrets: Map<string, Record<string, string>>;
  /** Values that are not text in UTF-8, by `<namespace>/<name>`. */
  binaryKeys?: Map<string, string[]>;
  configMaps: Map<string, Record<string, string>>;
  /** Keyed by the text of the resource's key. */
  sources: Map<string, Source>;
  problems: Problem[];
  /** Ignored documents and likely misspellings; they cause no rejection. */
  notices: Problem[];
}

export const EMPTY: FolderContent = {
  manifests: [],
  secrets: new Map(),
  configMaps: new Map(),
  sources: new Map(),
  problems: [],
  notices: [],
};

/** Sorts by name; omits subfolders. Throws when the folder does not exist. */
export function listManifestFiles(folder: string): ManifestFile[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  const names = entries.filter((entry) => !entry.isDirectory() && /\.ya?ml$/.test(entry.name)).map(({ name }) => name);
  return names.sort().map((name) => ({ file: join(folder, name), text: readFileSync(join(folder, name), 'utf8') }));
}

function folderContentOf(resources: Resource[], problems: Problem[], notices: Problem[]): FolderContent {
  const empty = { manifests: [], secrets: new Map(), configMaps: new Map(), sources: new Map() };
  const binaryKeys = new Map<string, string[]>();
  const folderContent: FolderContent = { ...empty, binaryKeys, problems, notices };
  for (const resource of resources) {
    const { kind, file, line, lineOf, positionOf } = resource;
    const metadata = { ...resource.metadata, namespace: resource.metadata.namespace ?? NAMESPACE };
    const place = `${metadata.namespace}/${metadata.name}`;
    folderContent.sources.set(keyText({ kind, ...metadata }), { file, line, lineOf, positionOf });
    if (kind === 'Secret') {
      folderContent.secrets.set(place, resource.values);
      if (resource.binaryKeys.length > 0) binaryKeys.set(place, resource.binaryKeys);
    } else if (kind === 'ConfigMap') folderContent.configMaps.set(place, resource.data);
    else folderContent.manifests.push({ apiVersion: resource.apiVersion, kind, metadata, spec: resource.spec });
  }
  return folderContent;
}

export function readFolderContent(files: ManifestFile[]): FolderContent {
  const { resources, problems, notices } = parseManifests(files);
  return folderContentOf(resources, problems, notices);
}

function textsOf(folderContent: FolderContent): Map<string, string> {
  const texts = new Map<string, string>();
  for (const manifest of folderContent.manifests) {
    texts.set(keyText({ kind: manifest.kind, ...manifest.metadata }), JSON.stringify(manifest));
  }
  for (const [place, values] of folderContent.secrets)
    texts.set(`Secret/${place}`, JSON.stringify([values, folderContent.binaryKeys?.get(place)]));
  for (const [place, data] of folderContent.configMaps) texts.set(`ConfigMap/${place}`, JSON.stringify(data));
  return texts;
}

export function changesBetween(before: FolderContent, after: FolderContent): ResourceKey[] {
  const former = textsOf(before);
  const present = textsOf(after);
  const keys = new Set([...former.keys(), ...present.keys()]);
  return [...keys].filter((key) => former.get(key) !== present.get(key)).map(parseKey);
}

/** A file that is no longer valid YAML keeps its last valid content, so that an editing mistake stops no running server. */
export class ManifestFolder {
  readonly #folder: string;
  readonly #readable = new Map<string, ManifestFile>();
  /** Parsing takes most of the time. */
  readonly #parsed = new Map<string, { text: string; parsed: ParsedFile }>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  read(): FolderContent {
    const files = listManifestFiles(this.#folder);
    const parse = (file: ManifestFile): ParsedFile => this.#parse(file);
    const { problems } = parseManifests(files, parse);
    const broken = new Set(problems.filter((problem) => problem.unreadable).map((problem) => problem.file));
    const names = new Set(files.map(({ file }) => file));
    for (const known of [this.#readable, this.#parsed])
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
    const counted = files.map((file) => {
      if (broken.has(file.file)) return this.#readable.get(file.file) ?? file;
      this.#readable.set(file.file, file);
      return file;
    });
    const { resources, notices } = parseManifests(counted, parse);
    return folderContentOf(resources, problems, notices);
  }

  #parse(file: ManifestFile): ParsedFile {
    const known = this.#parsed.get(file.file);
    if (known?.text === file.text) return known.parsed;
    const parsed = parseFile(file);
    this.#parsed.set(file.file, { text: file.text, parsed });
    return parsed;
  }
}
