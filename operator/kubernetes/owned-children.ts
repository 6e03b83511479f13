import type { KubeObject, OwnerReference } from './object.ts';
import { isOlder } from './section.ts';

/** The resource that controls an object. */
export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

function idOf({ apiVersion, kind, metadata }: KubeObject): string {
  return `${apiVersion} ${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
}

/** Objects that carry the operator's label, as they stand: what the watch told, and what our own writes were answered. */
export class OwnedChildren {
  readonly #objects = new Map<string, KubeObject>();
  readonly #byOwner = new Map<string, Set<string>>();

  /** What a watch tells. Returns whether it is news. */
  told(old: KubeObject | undefined, current: KubeObject | undefined): boolean {
    if (current) {
      if (isOlder(current, this.#objects.get(idOf(current)))) return false;
      this.#put(current);
      return true;
    }
    if (!old) return false;
    const known = this.#objects.get(idOf(old));
    // One of the same name may have been made anew.
    if (known?.metadata.uid !== old.metadata.uid) return false;
    this.#drop(idOf(old));
    return true;
  }

  /** What the API server answered to a write. */
  wrote(object: KubeObject): void {
    if (!isOlder(object, this.#objects.get(idOf(object)))) this.#put(object);
  }

  /** Gone by our own hand. */
  removed(object: KubeObject): void {
    this.#drop(idOf(object));
  }

  /** The object that stands where this one would. */
  at(object: KubeObject): KubeObject | undefined {
    return this.#objects.get(idOf(object));
  }

  /** All that one resource controls. */
  ofOwner(uid: string): KubeObject[] {
    return [...(this.#byOwner.get(uid) ?? [])].flatMap((id) => this.#objects.get(id) ?? []);
  }

  #put(object: KubeObject): void {
    const id = idOf(object);
    this.#drop(id);
    this.#objects.set(id, object);
    const owner = controllerOf(object)?.uid;
    if (owner === undefined) return;
    const ids = this.#byOwner.get(owner) ?? new Set();
    this.#byOwner.set(owner, ids.add(id));
  }

  #drop(id: string): void {
    const object = this.#objects.get(id);
    if (!object) return;
    this.#objects.delete(id);
    const owner = controllerOf(object)?.uid ?? '';
    const ids = this.#byOwner.get(owner);
    ids?.delete(id);
    if (ids?.size === 0) this.#byOwner.delete(owner);
  }
}
