import type { KubeObject, OwnerReference } from '../api/object.ts';
import { isOlder } from './section.ts';

export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

function idOf({ apiVersion, kind, metadata }: KubeObject): string {
  return `${apiVersion} ${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
}

/** `ours`: the change is an answer to the operator's own request. */
type OnChildChange = (old: KubeObject | undefined, current: KubeObject | undefined, ours: boolean) => void;

const isSame = (a: KubeObject, b: KubeObject) =>
  a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;

/** Current objects with the operator's label, from the watch and from the answers to the operator's own writes. */
export class OwnedChildren {
  readonly #objects = new Map<string, KubeObject>();
  readonly #byOwner = new Map<string, Set<string>>();
  readonly #changed: OnChildChange;

  constructor(changed: OnChildChange = () => undefined) {
    this.#changed = changed;
  }

  told(old: KubeObject | undefined, current: KubeObject | undefined): void {
    if (current) this.#take(current, false);
    else if (old) this.#gone(old);
  }

  wrote(object: KubeObject): void {
    this.#take(object, true);
  }

  #take(object: KubeObject, ours: boolean): void {
    const known = this.#objects.get(idOf(object));
    if (isOlder(object, known)) return;
    if (known && isSame(object, known)) {
      // Stores the watch cache's object, as two copies would take twice the memory.
      this.#objects.set(idOf(object), object);
      return;
    }
    this.#put(object);
    this.#changed(known, object, ours);
  }

  #gone(object: KubeObject): void {
    const known = this.#objects.get(idOf(object));
    // An object of the same name may have been recreated.
    if (!known || known.metadata.uid !== object.metadata.uid) return;
    this.#drop(idOf(object));
    this.#changed(known, undefined, false);
  }

  at(object: KubeObject): KubeObject | undefined {
    return this.#objects.get(idOf(object));
  }

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
