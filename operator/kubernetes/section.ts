import type { KubeObject } from './object.ts';

/** Order of two resource versions: the API server counts them up. Equal, or not comparable: 0. */
export function compareVersions(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined || a === b || !/^\d+$/.test(a) || !/^\d+$/.test(b)) return 0;
  return BigInt(a) < BigInt(b) ? -1 : 1;
}

/** Values by namespace and name. What `of` returns is the index itself: it changes while it is held. */
export class Section<T> {
  readonly #namespaces = new Map<string, Record<string, T>>();

  of(namespace: string): Record<string, T> {
    let index = this.#namespaces.get(namespace);
    if (!index) {
      // A resource may be called `constructor`.
      index = Object.create(null) as Record<string, T>;
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

  namespaces(): string[] {
    return [...this.#namespaces.keys()];
  }
}

/** Whether the watch tells of something older than what is known already, as after a write of our own. */
export function isOlder(told: KubeObject, known: KubeObject | undefined): boolean {
  return (
    known !== undefined &&
    told.metadata.uid === known.metadata.uid &&
    compareVersions(told.metadata.resourceVersion, known.metadata.resourceVersion) < 0
  );
}
