import type { Log } from '#operator/log';
import { isStatus } from '../api/api-error.ts';
import type { KubeApi } from '../api/api.ts';
import { findNames, type Names } from './find-names.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import { compareVersions, Section } from './section.ts';

/** Reads at once. */
const AT_ONCE = 8;

interface Read<V> {
  resourceVersion: string | undefined;
  value: V;
}

/**
 * The Secrets (or the ConfigMaps) that resources name. All are watched as metadata; only a named one is read, once for each
 * version of it.
 */
export class NamedValues<V> {
  readonly #api: KubeApi;
  readonly #resource: Resource;
  readonly #field: keyof Names;
  readonly #valueOf: (object: KubeObject) => V;
  readonly #log: Log;
  readonly #versions = new Section<string>();
  /** How many resources name it. */
  readonly #users = new Section<number>();
  readonly #namesOf = new Map<string, Set<string>>();
  readonly #read = new Section<Read<V>>();
  readonly #values = new Section<V>();
  readonly #stale = new Map<string, Set<string>>();

  constructor(
    api: KubeApi,
    resource: Resource,
    { field, valueOf, log }: { field: keyof Names; valueOf: (object: KubeObject) => V; log: Log },
  ) {
    this.#api = api;
    this.#resource = resource;
    this.#field = field;
    this.#valueOf = valueOf;
    this.#log = log;
  }

  /** A resource appeared, changed or went (`spec` is undefined). */
  refer(namespace: string, user: string, spec: unknown): void {
    const former = this.#namesOf.get(`${namespace}/${user}`) ?? new Set();
    const names = spec === undefined ? new Set<string>() : findNames(spec)[this.#field];
    for (const name of names) if (!former.has(name)) this.#count(namespace, name, 1);
    for (const name of former) if (!names.has(name)) this.#count(namespace, name, -1);
    if (names.size > 0) this.#namesOf.set(`${namespace}/${user}`, names);
    else this.#namesOf.delete(`${namespace}/${user}`);
  }

  /** What the watch tells of one. Returns whether a resource names it. */
  told(metadata: KubeObject['metadata'], exists: boolean): boolean {
    const { namespace = '', name, resourceVersion = '' } = metadata;
    this.#versions.set(namespace, name, exists ? resourceVersion : undefined);
    const named = this.#users.get(namespace, name) !== undefined;
    const read = this.#read.get(namespace, name);
    if (!exists) this.#forget(namespace, name);
    else if (named && (!read || compareVersions(read.resourceVersion, resourceVersion) < 0)) {
      this.#markStale(namespace, name);
    }
    return named;
  }

  /** Reads what is named, there, and not known in its present version. Throws an ApiError. */
  async load(namespace: string): Promise<Readonly<Record<string, V>>> {
    for (let names = this.#toRead(namespace); names.length > 0; names = this.#toRead(namespace)) {
      await Promise.all(names.map((name) => this.#readOne(namespace, name)));
    }
    return this.#values.of(namespace);
  }

  /** What was read last. */
  get(namespace: string, name: string): V | undefined {
    return this.#values.get(namespace, name);
  }

  #toRead(namespace: string): string[] {
    return [...(this.#stale.get(namespace) ?? [])].slice(0, AT_ONCE);
  }

  async #readOne(namespace: string, name: string): Promise<void> {
    const object = await this.#getOne(namespace, name);
    this.#stale.get(namespace)?.delete(name);
    if (!object || this.#users.get(namespace, name) === undefined) {
      this.#forget(namespace, name);
      return;
    }
    const { resourceVersion } = object.metadata;
    const known = this.#read.get(namespace, name);
    if (known && compareVersions(resourceVersion, known.resourceVersion) < 0) return;
    const value = this.#valueOf(object);
    this.#read.set(namespace, name, { resourceVersion, value });
    this.#values.set(namespace, name, value);
    // It may have changed once more while it was read.
    if (compareVersions(resourceVersion, this.#versions.get(namespace, name)) < 0) this.#markStale(namespace, name);
  }

  async #getOne(namespace: string, name: string): Promise<KubeObject | undefined> {
    try {
      return await this.#api.get(this.#resource, { namespace, name });
    } catch (problem) {
      if (isStatus(problem, 404)) return undefined;
      if (!isStatus(problem, 403)) throw problem;
      // One that the operator may not read counts as missing; it must not stop its whole namespace.
      this.#log.warn('it may not be read', { resource: this.#resource.plural, namespace, name, problem });
      return undefined;
    }
  }

  #count(namespace: string, name: string, by: 1 | -1): void {
    const users = (this.#users.get(namespace, name) ?? 0) + by;
    this.#users.set(namespace, name, users > 0 ? users : undefined);
    if (users <= 0) this.#forget(namespace, name);
    else if (users === 1 && by === 1 && this.#versions.get(namespace, name) !== undefined) {
      this.#markStale(namespace, name);
    }
  }

  #markStale(namespace: string, name: string): void {
    const names = this.#stale.get(namespace) ?? new Set();
    this.#stale.set(namespace, names.add(name));
  }

  #forget(namespace: string, name: string): void {
    this.#stale.get(namespace)?.delete(name);
    this.#read.set(namespace, name, undefined);
    this.#values.set(namespace, name, undefined);
  }
}
