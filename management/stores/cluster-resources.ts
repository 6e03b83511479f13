import { SPECS } from '#crds/kinds/index';
import { SingleFlight } from '#lib/limits/single-flight';
import type { KubeApi } from '#operator/kubernetes/api/api';
import { isStatus } from '#operator/kubernetes/api/api-error';
import { listAll } from '#operator/kubernetes/api/list-all';
import type { KubeObject } from '#operator/kubernetes/api/object';
import { isTooLong } from '#operator/kubernetes/api/read-page';
import { ownResource } from '#operator/kubernetes/api/resources';
import type { Kind } from '#operator/snapshot';
import { BOUNDS } from '../memory-bounds.ts';
import { Problem } from '../problem.ts';
import { sameValue } from '../same-value.ts';
import { Attempts } from './attempts.ts';
import { checkResource } from './check-resource.ts';
import { conflict, conflictingManagers, MANAGER, managersOf } from './explain-conflict.ts';
import { ListSemaphore } from './list-semaphore.ts';
import { problemOfApi } from './problem-of-api.ts';
import { readStatus } from '#crds/kinds/status';
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

interface ClusterResourcesOptions {
  api: KubeApi;
  namespace: string;
  apiGroup: string;
  /** Shared by all namespaces; by default one of its own. */
  lists?: ListSemaphore;
}

const LONGEST_LIST = BOUNDS.lists.resources;
/** A version that no object has: an apply with it creates a new object or fails with 409. */
const NO_VERSION = '1';

/** Uses server-side apply: the owners of other fields keep them. */
class ClusterResources implements Resources {
  readonly #in: Required<ClusterResourcesOptions>;
  /** Concurrent lists of one kind hold its resources once. */
  readonly #flights = new Map<Kind, SingleFlight<StoredResource[]>>();

  constructor(options: ClusterResourcesOptions) {
    this.#in = { lists: new ListSemaphore(), ...options };
  }

  async list(kind: Kind): Promise<StoredResource[]> {
    const { lists, namespace } = this.#in;
    const read = () => lists.run(namespace, `the resources of kind ${kind}`, (signal) => this.#list(kind, signal));
    const flight = this.#flights.get(kind) ?? new SingleFlight(read);
    this.#flights.set(kind, flight);
    return [...(await flight.run())];
  }

  async #list(kind: Kind, signal: AbortSignal): Promise<StoredResource[]> {
    const { api, namespace } = this.#in;
    const found: StoredResource[] = [];
    const objects = listAll(api, this.#resource(kind), { namespace }, LONGEST_LIST, { signal });
    try {
      for await (const object of objects) found.push(storedOf(kind, object));
    } catch (problem) {
      throw isTooLong(problem) ? tooLong(kind, namespace) : problemOfApi(problem);
    }
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async get(kind: Kind, name: string): Promise<StoredResource | undefined> {
    const live = await this.#live(kind, name);
    return live && storedOf(kind, live);
  }

  async create(resource: WantedResource): Promise<StoredResource> {
    const object = this.#objectOf(resource, NO_VERSION);
    checkResource(object);
    try {
      return storedOf(resource.kind, await this.#apply(resource.kind, object, {}));
    } catch (problem) {
      throw isStatus(problem, 409) ? alreadyExists(resource.name) : problemOfApi(problem);
    }
  }

  async replace(resource: WantedResource, options: WriteOptions = {}): Promise<StoredResource> {
    const { kind, name } = resource;
    return this.#onLive(kind, name, options, async (live) => {
      if (!live) throw new Problem('not_found', `there is no ${kind} "${name}"`);
      const { labels, annotations, spec } = storedOf(kind, live);
      const { labels: wantedLabels, annotations: wantedAnnotations, spec: wantedSpec } = resource;
      const wanted = { labels: wantedLabels, annotations: wantedAnnotations, spec: wantedSpec };
      if (sameValue({ labels, annotations, spec }, wanted)) return storedOf(kind, live);
      checkResource(this.#objectOf(resource));
      return storedOf(kind, await this.#write(resource, live, options));
    });
  }

  async delete(kind: Kind, name: string, { identity, ...options }: DeleteOptions = {}): Promise<boolean> {
    const { api, namespace } = this.#in;
    return this.#onLive(kind, name, options, (live) => {
      if (!live) return Promise.resolve(false);
      if (identity !== undefined && identityOf(storedOf(kind, live)) !== identity) throw stale(name);
      const { uid = '', resourceVersion = '' } = live.metadata;
      return api.delete(this.#resource(kind), { namespace, name }, { uid, resourceVersion });
    });
  }

  /** Retries after concurrent changes. A write to the status is no reason to fail. */
  async #onLive<T>(
    kind: Kind,
    name: string,
    { expected, attempts = new Attempts(name) }: WriteOptions,
    work: (live: KubeObject | undefined) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const live = await this.#live(kind, name);
      if (expected && (!live || !expected.includes(storedOf(kind, live).version))) throw stale(name);
      try {
        return await work(live);
      } catch (problem) {
        if (!isStatus(problem, 409)) throw problemOfApi(problem);
        const managers = conflictingManagers(problem);
        if (managers.length > 0 && (await this.#isStill(kind, name, live))) throw conflict(name, managers);
        attempts.again();
      }
    }
  }

  /** The API server checks for conflicts before it compares the version. */
  async #isStill(kind: Kind, name: string, before: KubeObject | undefined): Promise<boolean> {
    return (await this.get(kind, name))?.version === (before && storedOf(kind, before).version);
  }

  async #live(kind: Kind, name: string): Promise<KubeObject | undefined> {
    try {
      return await this.#in.api.get(this.#resource(kind), { namespace: this.#in.namespace, name });
    } catch (problem) {
      if (isStatus(problem, 404)) return undefined;
      throw problemOfApi(problem);
    }
  }

  /** A field that another manager also owns stays after an apply without it: only force removes such a field. */
  async #write(resource: WantedResource, live: KubeObject, { force = false }: WriteOptions): Promise<KubeObject> {
    const { kind, name, labels, annotations, spec } = resource;
    const object = this.#objectOf(resource, live.metadata.resourceVersion);
    const result = await this.#applyOwn(kind, object, { force, dryRun: true });
    const left = leftOver(resource, storedOf(kind, result));
    if (left.length === 0) return this.#applyOwn(kind, object, { force });
    const owners = managersOf(live, left);
    if (owners.length > 0 && !force) throw conflict(name, owners);
    const metadata = { ...live.metadata, labels, annotations, managedFields: undefined };
    return this.#in.api.replace(this.#resource(kind), { ...live, metadata, spec }, { fieldManager: MANAGER });
  }

  /** Fields that this manager wrote by a replacement, not by an apply, are also its own. */
  async #applyOwn(kind: Kind, object: KubeObject, options: { force: boolean; dryRun?: boolean }): Promise<KubeObject> {
    try {
      return await this.#apply(kind, object, options);
    } catch (problem) {
      if (!isStatus(problem, 409)) throw problem;
      const managers = conflictingManagers(problem);
      if (managers.length === 0 || managers.some((manager) => manager !== MANAGER)) throw problem;
      return this.#apply(kind, object, { ...options, force: true });
    }
  }

  #apply(kind: Kind, object: KubeObject, options: { force?: boolean; dryRun?: boolean }): Promise<KubeObject> {
    return this.#in.api.apply(this.#resource(kind), object, { fieldManager: MANAGER, ...options });
  }

  #resource(kind: Kind) {
    return ownResource(kind, this.#in.apiGroup);
  }

  #objectOf({ kind, name, labels, annotations, spec }: WantedResource, resourceVersion?: string): KubeObject {
    const { apiGroup, namespace } = this.#in;
    const metadata = {
      name,
      namespace,
      labels,
      annotations,
      ...(resourceVersion !== undefined && { resourceVersion }),
    };
    return { apiVersion: `${apiGroup}/v1alpha1`, kind, metadata, spec };
  }
}

export const clusterResources = (options: ClusterResourcesOptions): Resources => new ClusterResources(options);

const mapping = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

function storedOf(kind: Kind, { metadata, spec, status }: KubeObject): StoredResource {
  const { name, uid, labels = {}, annotations = {}, creationTimestamp, deletionTimestamp } = metadata;
  return {
    kind,
    name,
    uid,
    labels,
    annotations,
    spec: mapping(spec),
    version: versionOf({ metadata, spec: mapping(spec) }),
    createdAt: creationTimestamp,
    isBeingDeleted: deletionTimestamp !== undefined,
    status: readStatus(status),
  };
}

/** Defaults of the API server do not count. */
function leftOver(wanted: WantedResource, { labels, annotations, spec }: StoredResource): string[] {
  const [is, ought] = [withDefaults(wanted.kind, spec), withDefaults(wanted.kind, wanted.spec)];
  const fields = [...new Set([...Object.keys(is), ...Object.keys(ought)])];
  return [
    ...fields.filter((field) => !sameValue(is[field], ought[field])),
    ...(sameValue(labels, wanted.labels) ? [] : ['labels']),
    ...(sameValue(annotations, wanted.annotations) ? [] : ['annotations']),
  ];
}

function withDefaults(kind: Kind, spec: Record<string, unknown>): Record<string, unknown> {
  const read = SPECS[kind].safeParse(spec);
  return read.success ? { ...read.data } : spec;
}

function tooLong(kind: Kind, namespace: string): Problem {
  const what = `what there is of kind ${kind} in namespace "${namespace}" takes more than ${LONGEST_LIST} bytes`;
  return new Problem('unavailable', `${what}, and is not listed: take some away, or shorten them`);
}
