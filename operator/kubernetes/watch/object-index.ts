import { type KubeObject, placeText } from '../api/object.ts';

const NONE: Readonly<Record<string, never>> = Object.freeze(Object.create(null) as Record<string, never>);

interface NamespaceEntries<T> {
  size: number;
  /** Without a prototype: `constructor` is a valid name of a resource. */
  byName: Record<string, T>;
}

/** Objects of one resource, by key and by namespace. */
export class ObjectIndex<T extends KubeObject> {
  readonly byPlace = new Map<string, T>();
  readonly #namespaces = new Map<string, NamespaceEntries<T>>();

  inNamespace(namespace: string): Readonly<Record<string, T>> {
    return this.#namespaces.get(namespace)?.byName ?? NONE;
  }

  /** Stores an object and returns its predecessor. */
  set(object: T): T | undefined {
    const place = placeText(object.metadata);
    const old = this.byPlace.get(place);
    this.byPlace.set(place, object);
    const { namespace = '', name } = object.metadata;
    const entries = this.#namespaces.get(namespace) ?? { size: 0, byName: Object.create(null) as Record<string, T> };
    if (!old) entries.size += 1;
    entries.byName[name] = object;
    this.#namespaces.set(namespace, entries);
    return old;
  }

  delete(place: string): T | undefined {
    const old = this.byPlace.get(place);
    if (!old) return undefined;
    this.byPlace.delete(place);
    const { namespace = '', name } = old.metadata;
    const entries = this.#namespaces.get(namespace);
    if (!entries) return old;
    // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- a record is what the planner reads
    delete entries.byName[name];
    entries.size -= 1;
    if (entries.size === 0) this.#namespaces.delete(namespace);
    return old;
  }

  places(namespace: string | undefined): string[] {
    if (namespace === undefined) return [...this.byPlace.keys()];
    return Object.keys(this.inNamespace(namespace)).map((name) => placeText({ namespace, name }));
  }
}
