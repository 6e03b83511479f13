import { DEFAULT_API_GROUP, KIND_NAMES, VERSION } from '#crds/kinds/index';
import type { Status } from '#crds/kinds/status';
import type { Kind, Manifest, ResourceKey } from '#operator/snapshot';
import { keyText } from '#operator/snapshot';
import { type Expected, isExpected } from '../if-match.ts';
import { Problem } from '../problem.ts';
import { sameValue } from '../same-value.ts';
import { checkResource } from './check-resource.ts';
import type { ManifestFiles } from './manifest-files.ts';
import { alreadyExists, stale } from './record-store.ts';
import {
  type DeleteOptions,
  identityOf,
  type Resources,
  type StoredResource,
  type WantedResource,
  type WriteOptions,
} from './resources.ts';
import { versionOf } from './version-of.ts';

interface FolderResourcesOptions {
  files: ManifestFiles;
  namespace: string;
  statusOf: (key: ResourceKey) => Status | undefined;
  /** Milliseconds since the epoch. */
  now: () => number;
}

/** Changes take effect when the folder is read next. */
class FolderResources implements Resources {
  readonly #in: FolderResourcesOptions;

  constructor(options: FolderResourcesOptions) {
    this.#in = options;
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- what reading throws is to be a rejection
  async list(kind: Kind): Promise<StoredResource[]> {
    const { files, namespace } = this.#in;
    const mine = files.read().manifests.filter((one) => one.kind === kind && one.metadata.namespace === namespace);
    const stored = mine.map((manifest) => this.#stored(manifest));
    return stored.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async get(kind: Kind, name: string): Promise<StoredResource | undefined> {
    return (await this.list(kind)).find((one) => one.name === name);
  }

  async create(resource: WantedResource): Promise<StoredResource> {
    const { files, namespace, now } = this.#in;
    const { kind, name } = resource;
    const key = this.#key(kind, name);
    const folderContent = files.read();
    if (folderContent.sources.has(keyText(key))) throw alreadyExists(name);
    const metadata = {
      name,
      ...(namespace !== 'default' && { namespace }),
      creationTimestamp: new Date(now()).toISOString(),
      ...written(resource),
    };
    const document = { apiVersion: apiVersionOf(folderContent.manifests), kind, metadata, spec: resource.spec };
    checkResource(document);
    if (!(await files.add(document, { key, name: `${KIND_NAMES[kind].singular}-${name}` }))) throw alreadyExists(name);
    return this.#found(kind, name);
  }

  async replace(resource: WantedResource, { expected, force }: WriteOptions = {}): Promise<StoredResource> {
    const { kind, name, spec } = resource;
    const done = await this.#in.files.change(
      this.#key(kind, name),
      (said) => {
        checkVersion(name, said, expected);
        const { labels, annotations, ...metadata } = mapping(said.metadata);
        const wanted = { ...said, metadata: { ...metadata, ...kept({ labels, annotations }, resource) }, spec };
        if (!sameValue(said, wanted)) checkResource(wanted);
        return wanted;
      },
      force,
    );
    if (!done) throw new Problem('not_found', `there is no ${kind} "${name}"`);
    return this.#found(kind, name);
  }

  async delete(kind: Kind, name: string, { expected, identity, force }: DeleteOptions = {}): Promise<boolean> {
    const remove = (said: Record<string, unknown>): undefined => {
      const { creationTimestamp: at } = mapping(said.metadata);
      const createdAt = typeof at === 'string' ? at : undefined;
      if (identity !== undefined && identityOf({ createdAt }) !== identity) throw stale(name);
      checkVersion(name, said, expected);
      return undefined;
    };
    return (await this.#in.files.change(this.#key(kind, name), remove, force)) !== undefined;
  }

  #key(kind: Kind, name: string): ResourceKey {
    return { kind, namespace: this.#in.namespace, name };
  }

  async #found(kind: Kind, name: string): Promise<StoredResource> {
    const found = await this.get(kind, name);
    if (!found) throw new Problem('busy', `${kind} "${name}" was removed by somebody else meanwhile`);
    return found;
  }

  #stored({ kind, metadata, spec }: Manifest): StoredResource {
    const { name, labels = {}, annotations = {}, creationTimestamp } = metadata;
    return {
      kind,
      name,
      labels,
      annotations,
      spec: mapping(spec),
      version: versionOf({ metadata, spec }),
      createdAt: creationTimestamp,
      status: this.#in.statusOf(this.#key(kind, name)),
    };
  }
}

export const folderResources = (options: FolderResourcesOptions): Resources => new FolderResources(options);

const mapping = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

function checkVersion(name: string, said: Record<string, unknown>, expected: Expected | undefined): void {
  if (!isExpected(versionOf({ metadata: mapping(said.metadata), spec: said.spec }), expected)) throw stale(name);
}

function written({ labels, annotations }: Pick<WantedResource, 'labels' | 'annotations'>) {
  return {
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
}

function kept(former: { labels?: unknown; annotations?: unknown }, wanted: WantedResource) {
  return {
    ...(former.labels !== undefined && { labels: {} }),
    ...(former.annotations !== undefined && { annotations: {} }),
    ...written(wanted),
  };
}

function apiVersionOf([manifest]: Manifest[]): string {
  return manifest?.apiVersion ?? `${DEFAULT_API_GROUP}/${VERSION}`;
}
