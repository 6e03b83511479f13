import { type KubeObject, placeText } from '../api/object.ts';

const NONE: Readonly<Record<string, never>> = Object.freeze(Object.create(null) as Record<string, never>);

interface Shelf<T> {
  size: number;
  /** Without a prototype: `constructor` is a valid name of a resource. */
  byName: Record<string, T>;
}

/** Objects of one resource, by key and by namespace. */
export class ObjectIndex<T extends KubeObject> {
  readonly byPlace = new Map<string, T>();
  readonly #shelves = new Map<string, Shelf<T>>();

  inNamespace(namespace: string): Readonly<Record<string, T>> {
    return this.#shelves.get(namespace)?.byName ?? NONE;
  }

  /** Stores an object and returns its predecessor. */
  set(object: T): T | undefined {
    const place = placeText(object.metadata);
    const old = this.byPlace.get(place);
    this.byPlace.set(place, object);
    const { namespace = '', name } = object.metadata;
    const shelf = this.#shelves.get(namespace) ?? { size: 0, byName: Object.create(null) as Record<string, T> };
    if (!old) shelf.size += 1;
    shelf.byName[name] = object;
    this.#shelves.set(namespace, shelf);
    return old;
  }

  /** Removes the object with this key and returns it. */
  delete(place: string): T | undefined {
    const old = this.byPlace.get(place);
    if (!old) return undefined;
    this.byPlace.delete(place);
    const { namespace = '', name } = old.metadata;
    const shelf = this.#shelves.get(namespace);
    if (!shelf) return old;
    // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- a record is what the planner reads
    delete shelf.byName[name];
    shelf.size -= 1;
    if (shelf.size === 0) this.#shelves.delete(namespace);
    return old;
  }

  /** Returns the keys of one namespace, or of all. */
  places(namespace: string | undefined): string[] {
    if (namespace === undefined) return [...this.byPlace.keys()];
    return Object.keys(this.inNamespace(namespace)).map((name) => placeText({ namespace, name }));
  }
}
