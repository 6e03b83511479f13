import type { Log } from '#lib/log/log';
import { BOUNDS, MIB } from '#operator/memory-bounds';
import { isStatus } from '../api/api-error.ts';
import type { KubeApi } from '../api/api.ts';
import { isTooLong } from '../api/read-page.ts';
import { findNames, type Names } from './find-names.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import { compareVersions, Section } from './section.ts';

/** Concurrent reads. */
const AT_ONCE = 8;

const { ofNamespace: MOST, ofAll: MOST_OF_ALL, sure: SURE } = BOUNDS.named;

/** Memory of a key besides its value: its name, a digest, and their entries in objects. Bytes. */
export const WEIGHT_OF_KEY = 512;

export interface CachedValue<V> {
  value: V;
  bytes: number;
}

interface Read {
  resourceVersion: string | undefined;
  keys: ReadonlySet<string>;
  bytes: number;
}

interface NamedValuesOptions<V> {
  field: keyof Names;
  /** Extracts the cached part. Only `keys` need more than their presence. */
  valueOf: (object: KubeObject, keys: ReadonlySet<string>) => CachedValue<V>;
  log: Log;
}

/** Secrets or ConfigMaps that resources name: all are watched as metadata, named ones are read once per version, limited per namespace. */
export class NamedValues<V> {
  readonly #api: KubeApi;
  readonly #resource: Resource;
  readonly #field: keyof Names;
  readonly #valueOf: NamedValuesOptions<V>['valueOf'];
  readonly #log: Log;
  readonly #versions = new Section<string>();
  readonly #users = new Section<Map<string, ReadonlySet<string>>>();
  readonly #namesOf = new Map<string, Names[keyof Names]>();
  readonly #read = new Section<Read>();
  /** Cached bytes by namespace. */
  readonly #weights = new Map<string, number>();
  #weightOfAll = 0;
  /** Whether an object was refused because of other namespaces' usage. */
  #isFull = false;
  readonly #refused = new Section<string>();
  readonly #values = new Section<V>();
  readonly #stale = new Map<string, Set<string>>();

  constructor(api: KubeApi, resource: Resource, { field, valueOf, log }: NamedValuesOptions<V>) {
    this.#api = api;
    this.#resource = resource;
    this.#field = field;
    this.#valueOf = valueOf;
    this.#log = log;
  }

  /** Records the references of a resource that appeared, changed or was deleted (`spec` is undefined). */
  refer(namespace: string, user: string, spec: unknown): void {
    const former = this.#namesOf.get(`${namespace}/${user}`) ?? new Map<string, Set<string>>();
    const names = findNames(spec)[this.#field];
    for (const name of former.keys()) if (!names.has(name)) this.#leave(namespace, name, user);
    for (const [name, keys] of names) this.#use(namespace, name, user, keys);
    if (names.size > 0) this.#namesOf.set(`${namespace}/${user}`, names);
    else this.#namesOf.delete(`${namespace}/${user}`);
  }

  /** Records a watch event. Returns whether a resource names the object. */
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

  /** Reads all named objects that exist and are not cached in their current version. @throws ApiError */
  async load(namespace: string): Promise<Readonly<Record<string, V>>> {
    for (let names = this.#toRead(namespace); names.length > 0; names = this.#toRead(namespace)) {
      await Promise.all(names.map((name) => this.#readOne(namespace, name)));
    }
    return this.#values.of(namespace);
  }

  refused(namespace: string): Readonly<Record<string, string>> {
    return this.#refused.of(namespace);
  }

  get(namespace: string, name: string): V | undefined {
    return this.#values.get(namespace, name);
  }

  #toRead(namespace: string): string[] {
    return [...(this.#stale.get(namespace) ?? [])].slice(0, AT_ONCE);
  }

  async #readOne(namespace: string, name: string): Promise<void> {
    const object = await this.#getOne(namespace, name);
    this.#stale.get(namespace)?.delete(name);
    const users = this.#users.get(namespace, name);
    if (!object || !users) {
      this.#forget(namespace, name);
      return;
    }
    const { resourceVersion } = object.metadata;
    const known = this.#read.get(namespace, name);
    if (known && compareVersions(resourceVersion, known.resourceVersion) < 0) return;
    const keys = new Set([...users.values()].flatMap((named) => [...named]));
    this.#keep(namespace, name, { resourceVersion, keys, ...this.#valueOf(object, keys) });
    // The object may have changed again during the read.
    if (compareVersions(resourceVersion, this.#versions.get(namespace, name)) < 0) this.#markStale(namespace, name);
  }

  #keep(namespace: string, name: string, { value, ...read }: Read & { value: V }): void {
    const formerWeight = this.#weightOf(namespace);
    const isTold = this.#refused.get(namespace, name) !== undefined;
    this.#drop(namespace, name);
    const excess = this.#excessOf(namespace, read.bytes);
    this.#read.set(namespace, name, { ...read, bytes: excess === undefined ? read.bytes : 0 });
    if (excess === undefined) {
      this.#weigh(namespace, read.bytes);
      this.#values.set(namespace, name, value);
    }
    if (this.#weightOf(namespace) < formerWeight) this.#retryRefused(namespace);
    if (excess !== undefined) this.#refuse(namespace, name, excess, isTold);
  }

  #excessOf(namespace: string, bytes: number): string | undefined {
    const weight = this.#weightOf(namespace) + bytes;
    if (weight > MOST) return `namespace "${namespace}" name would exceed ${MOST / MIB} MiB`;
    if (weight <= SURE || this.#weightOfAll + bytes <= MOST_OF_ALL) return undefined;
    this.#isFull = true;
    return `all namespaces name would exceed ${MOST_OF_ALL / MIB} MiB`;
  }

  #refuse(namespace: string, name: string, excess: string, isTold: boolean): void {
    const { plural } = this.#resource;
    const problem = `with it what is kept of the ${plural} that resources of ${excess}`;
    this.#refused.set(namespace, name, `${problem}: name fewer, or smaller ones`);
    if (!isTold) this.#log.warn('it is not read', { resource: plural, namespace, name, problem });
  }

  async #getOne(namespace: string, name: string): Promise<KubeObject | undefined> {
    try {
      return await this.#api.get(this.#resource, { namespace, name });
    } catch (problem) {
      if (isStatus(problem, 404)) return undefined;
      if (!isStatus(problem, 403) && !isTooLong(problem)) throw problem;
      // An unreadable object counts as missing, so that it does not block its namespace.
      this.#log.warn('it may not be read', { resource: this.#resource.plural, namespace, name, problem });
      return undefined;
    }
  }

  #use(namespace: string, name: string, user: string, keys: ReadonlySet<string>): void {
    const users = this.#users.get(namespace, name) ?? new Map<string, ReadonlySet<string>>();
    this.#users.set(namespace, name, users.set(user, keys));
    const read = this.#read.get(namespace, name);
    const isKnown = read !== undefined && [...keys].every((key) => read.keys.has(key));
    if (!isKnown && this.#versions.get(namespace, name) !== undefined) this.#markStale(namespace, name);
  }

  #leave(namespace: string, name: string, user: string): void {
    const users = this.#users.get(namespace, name);
    users?.delete(user);
    if (users && users.size > 0) return;
    this.#users.set(namespace, name, undefined);
    this.#forget(namespace, name);
  }

  #markStale(namespace: string, name: string): void {
    const names = this.#stale.get(namespace) ?? new Set();
    this.#stale.set(namespace, names.add(name));
  }

  #forget(namespace: string, name: string): void {
    const formerWeight = this.#weightOf(namespace);
    this.#drop(namespace, name);
    if (this.#weightOf(namespace) < formerWeight) this.#retryRefused(namespace);
  }

  #drop(namespace: string, name: string): void {
    this.#stale.get(namespace)?.delete(name);
    this.#weigh(namespace, -(this.#read.get(namespace, name)?.bytes ?? 0));
    for (const section of [this.#read, this.#values, this.#refused]) section.set(namespace, name, undefined);
  }

  #weightOf(namespace: string): number {
    return this.#weights.get(namespace) ?? 0;
  }

  #weigh(namespace: string, bytes: number): void {
    const weight = this.#weightOf(namespace) + bytes;
    if (weight > 0) this.#weights.set(namespace, weight);
    else this.#weights.delete(namespace);
    this.#weightOfAll += bytes;
  }

  /** Marks refused objects for another read after a namespace's usage fell: those of all namespaces if the shared limit was reached. */
  #retryRefused(namespace: string): void {
    const refused = this.#isFull
      ? this.#refused.keys()
      : Object.keys(this.#refused.of(namespace)).map((name) => ({ namespace, name }));
    this.#isFull = false;
    for (const one of refused) this.#markStale(one.namespace, one.name);
  }
}
