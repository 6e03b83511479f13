import type { Manifest } from '../snapshot.ts';

/** Texts that may be the name of a resource. Look-ups ignore all others. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

class Lookup {
  readonly #names = new Map<string, Set<string>>();

  add(texts: Iterable<string>, name: string): void {
    for (const text of texts) {
      const names = this.#names.get(text);
      if (names) names.add(name);
      else this.#names.set(text, new Set([name]));
    }
  }

  delete(texts: Iterable<string>, name: string): void {
    for (const text of texts) {
      const names = this.#names.get(text);
      if (names?.delete(name) && names.size === 0) this.#names.delete(text);
    }
  }

  get(text: string): string[] {
    return [...(this.#names.get(text) ?? [])];
  }
}

interface Entry {
  manifest: Manifest;
  spec: ReadonlySet<string>;
  status: ReadonlySet<string>;
}

/** Index of the references among resources of one kind and namespace, for platforms with thousands of resources. */
export class ResourceIndex {
  readonly #entries = new Map<string, Entry>();
  readonly #specs = new Lookup();
  readonly #statuses = new Lookup();

  set(manifest: Manifest): void {
    const { name } = manifest.metadata;
    const before = this.#entries.get(name);
    const entry: Entry = {
      manifest,
      // The API server increments the generation with each change of a spec.
      spec: before && isSameSpec(before.manifest, manifest) ? before.spec : namesIn(manifest.spec),
      status: namesIn(manifest.status),
    };
    if (before) this.#remove(before, entry);
    if (entry.spec !== before?.spec) this.#specs.add(entry.spec, name);
    this.#statuses.add(entry.status, name);
    this.#entries.set(name, entry);
  }

  delete(name: string): void {
    const before = this.#entries.get(name);
    if (before) this.#remove(before);
    this.#entries.delete(name);
  }

  naming(text: string): string[] {
    return this.#specs.get(text);
  }

  namingInStatus(text: string): string[] {
    return this.#statuses.get(text);
  }

  #remove(before: Entry, after?: Entry): void {
    const { name } = before.manifest.metadata;
    if (before.spec !== after?.spec) this.#specs.delete(before.spec, name);
    this.#statuses.delete(before.status, name);
  }
}

function isSameSpec({ metadata: a }: Manifest, { metadata: b }: Manifest): boolean {
  return a.generation !== undefined && a.generation === b.generation && a.uid === b.uid;
}

function namesIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value === 'string') {
    if (NAME.test(value)) found.add(value);
  } else if (typeof value === 'object' && value !== null) {
    for (const inside of Object.values(value)) namesIn(inside, found);
  }
  return found;
}

const INDEX = Symbol('index');

/** Creates resources by name with an index. The code that changes the record must update the index. A copy of the record has none. */
export function indexedRecord(): { record: Record<string, Manifest>; index: ResourceIndex } {
  const index = new ResourceIndex();
  const record = Object.create(null) as Record<string, Manifest>;
  Object.defineProperty(record, INDEX, { value: index });
  return { record, index };
}

function indexOf(resources: Record<string, Manifest>): ResourceIndex | undefined {
  const index: unknown = Object.getOwnPropertyDescriptor(resources, INDEX)?.value;
  return index instanceof ResourceIndex ? index : undefined;
}

class ChangedIndex extends ResourceIndex {
  readonly #base: ResourceIndex;
  readonly #own = new ResourceIndex();
  readonly #name: string;

  constructor(base: ResourceIndex, manifest: Manifest) {
    super();
    this.#base = base;
    this.#name = manifest.metadata.name;
    this.#own.set(manifest);
  }

  override naming(text: string): string[] {
    return [...this.#others(this.#base.naming(text)), ...this.#own.naming(text)];
  }

  override namingInStatus(text: string): string[] {
    return [...this.#others(this.#base.namingInStatus(text)), ...this.#own.namingInStatus(text)];
  }

  #others(names: string[]): string[] {
    return names.filter((name) => name !== this.#name);
  }
}

/** Returns the record with one resource added or replaced, without copying an indexed record, which may have thousands of entries. */
export function withResource(resources: Record<string, Manifest>, manifest: Manifest): Record<string, Manifest> {
  const { name } = manifest.metadata;
  const base = indexOf(resources);
  if (!base) return { ...resources, [name]: manifest };
  const index = new ChangedIndex(base, manifest);
  const valueAt = (key: string | symbol): unknown => {
    if (key === INDEX) return index;
    return key === name ? manifest : resources[String(key)];
  };
  return new Proxy(Object.create(null) as Record<string, Manifest>, {
    get: (_target, key) => valueAt(key),
    has: (_target, key) => key === name || key in resources,
    ownKeys: () => [...new Set([...Object.keys(resources), name])],
    getOwnPropertyDescriptor(_target, key) {
      const value = valueAt(key);
      if (value === undefined) return undefined;
      return { value, enumerable: key !== INDEX, configurable: true, writable: true };
    },
  });
}

type Resources = Record<string, Manifest>;

function mentions(value: unknown, text: string): boolean {
  if (typeof value === 'string') return value === text;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((inside) => mentions(inside, text));
}

function select(resources: Resources, names: string[] | undefined, fits: (manifest: Manifest) => boolean): Manifest[] {
  if (!names) return Object.values(resources).filter(fits);
  return names.flatMap((name) => resources[name] ?? []);
}

export function resourcesNaming(resources: Resources, text: string): Manifest[] {
  return select(resources, indexOf(resources)?.naming(text), ({ spec }) => mentions(spec, text));
}

export function resourcesNamingInStatus(resources: Resources, text: string): Manifest[] {
  return select(resources, indexOf(resources)?.namingInStatus(text), ({ status }) => mentions(status, text));
}

export function isIndexed(resources: Resources): boolean {
  return indexOf(resources) !== undefined;
}
