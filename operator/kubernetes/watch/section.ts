import { indexedRecord, type ResourceIndex } from '../../plan/resource-index.ts';
import type { Manifest } from '../../snapshot.ts';
import type { KubeObject } from '../api/object.ts';

/** Compares two resource versions, which the API server counts up. Returns 0 if they are equal or not comparable. */
export function compareVersions(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined || a === b || !/^\d+$/.test(a) || !/^\d+$/.test(b)) return 0;
  return BigInt(a) < BigInt(b) ? -1 : 1;
}

/** A resource may be named `constructor`. */
function withoutPrototype<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>;
}

/** Values by namespace and name. `of` returns the live index. */
export class Section<T> {
  readonly #namespaces = new Map<string, Record<string, T>>();
  readonly #makeRecord: (namespace: string) => Record<string, T>;

  constructor(makeRecord: (namespace: string) => Record<string, T> = withoutPrototype) {
    this.#makeRecord = makeRecord;
  }

  of(namespace: string): Record<string, T> {
    let index = this.#namespaces.get(namespace);
    if (!index) {
      index = this.#makeRecord(namespace);
      this.#namespaces.set(namespace, index);
    }
    return index;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#namespaces.get(namespace)?.[name];
  }

  set(namespace: string, name: string, value: T | undefined): void {
    if (value !== undefined) this.of(namespace)[name] = value;
    else if (this.#namespaces.has(namespace)) Reflect.deleteProperty(this.of(namespace), name);
  }

  setLazily(namespace: string, name: string, get: (() => T | undefined) | undefined): void {
    this.set(namespace, name, undefined);
    if (get) Object.defineProperty(this.of(namespace), name, { get, enumerable: true, configurable: true });
  }

  keys(): { namespace: string; name: string }[] {
    const places = [...this.#namespaces].map(([namespace, index]) =>
      Object.keys(index).map((name) => ({ namespace, name })),
    );
    return places.flat();
  }
}

/** Returns whether a watch event is older than the known object, as after the operator's own write. */
export function isOlder(told: KubeObject, known: KubeObject | undefined): boolean {
  return (
    known !== undefined &&
    told.metadata.uid === known.metadata.uid &&
    compareVersions(told.metadata.resourceVersion, known.metadata.resourceVersion) < 0
  );
}

/** Resources of one kind, indexed by the names that they refer to. */
export class ManifestSection extends Section<Manifest> {
  readonly #indexes: Map<string, ResourceIndex>;

  constructor() {
    const indexes = new Map<string, ResourceIndex>();
    super((namespace) => {
      const { record, index } = indexedRecord();
      indexes.set(namespace, index);
      return record;
    });
    this.#indexes = indexes;
  }

  override set(namespace: string, name: string, manifest: Manifest | undefined): void {
    super.set(namespace, name, manifest);
    const index = this.#indexes.get(namespace);
    if (manifest) index?.set(manifest);
    else index?.delete(name);
  }
}
