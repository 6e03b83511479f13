import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { DEFAULT_API_GROUP } from '#crds/kinds/kind-names';
import { isStatus } from '#operator/kubernetes/api/api-error';
import { listAll } from '#operator/kubernetes/api/list-all';
import type { KubeApi } from '#operator/kubernetes/api/api';
import type { KubeObject } from '#operator/kubernetes/api/object';
import { isTooLong } from '#operator/kubernetes/api/read-page';
import { CONFIG_MAPS } from '#operator/kubernetes/api/resources';
import { BOUNDS } from '../memory-bounds.ts';
import { Problem } from '../problem.ts';
import { problemOfApi } from './problem-of-api.ts';
import {
  alreadyExists,
  keyOf,
  MOST_RECORDS,
  type RecordKind,
  type Records,
  type RecordStore,
  stale,
  type StoredRecord,
  textOf,
  tooMany,
} from './record-store.ts';

const { records: LONGEST_LIST, written: LONGEST_WRITTEN } = BOUNDS.lists;
/** Kinds whose documents are all read together, and that contain data sent by callers. */
const BOUNDED: ReadonlySet<RecordKind> = new Set(['skills']);

const DOCUMENT = 'record.json';

/** Separates installations with different API groups. */
const labelOf = (apiGroup: string): string => `${apiGroup}/record`;
export const recordSelector = (kind: RecordKind, apiGroup: string): string => `${labelOf(apiGroup)}=${kind}`;
const NAME = 'vmcp.dev/record-name';
/** Differs with each write: the API server increments the version only for a change. */
const WRITE = 'vmcp.dev/write';

interface RecordsInCluster {
  api: KubeApi;
  namespace: string;
  apiGroup: string;
}

interface Listing {
  metadataOnly?: boolean;
  /** Bytes; without it, no size is rejected. */
  longest?: number;
  refusal?: (kind: RecordKind, namespace: string) => Problem;
}

/** Finds records by label; the resourceVersion is the version of the record. */
class ConfigMapRecords implements RecordStore {
  readonly #in: RecordsInCluster;
  readonly #kind: RecordKind;

  constructor(where: RecordsInCluster, kind: RecordKind) {
    this.#in = where;
    this.#kind = kind;
  }

  async list(): Promise<StoredRecord[]> {
    const records = await this.#all((object) => this.#read(object), { longest: LONGEST_LIST, refusal: notListed });
    return records.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async names(): Promise<string[]> {
    const names = await this.#all(({ metadata }) => metadata.annotations?.[NAME], { metadataOnly: true });
    return names.filter((name) => name !== undefined).sort();
  }

  async #all<T>(read: (object: KubeObject) => T, { metadataOnly, longest, refusal }: Listing): Promise<T[]> {
    const { namespace, api, apiGroup } = this.#in;
    const selection = { namespace, labelSelector: recordSelector(this.#kind, apiGroup), metadataOnly };
    const found: T[] = [];
    try {
      for await (const object of listAll(api, CONFIG_MAPS, selection, longest)) {
        if (found.push(read(object)) === MOST_RECORDS) break;
      }
    } catch (problem) {
      throw isTooLong(problem) && refusal ? refusal(this.#kind, namespace) : problemOfApi(problem);
    }
    return found;
  }

  /** Permits a record that does not grow. @throws Problem `too_large`: the records could no longer be read together */
  async #checkQuota(object: KubeObject, former?: KubeObject): Promise<void> {
    if (!BOUNDED.has(this.#kind)) return;
    const added = sizeOf(object) - (former ? sizeOf(former) : 0);
    if (added <= 0) return;
    await this.#all(() => undefined, { longest: LONGEST_WRITTEN - added, refusal: quotaExceeded });
  }

  async get(name: string): Promise<StoredRecord | undefined> {
    const object = await this.#live(name);
    return object && this.#read(object);
  }

  async create(name: string, value: unknown): Promise<string> {
    const object = this.#objectOf(name, value);
    const names = await this.names();
    // The API server reports a record that exists already.
    if (!names.includes(name)) {
      if (names.length >= MOST_RECORDS) throw tooMany();
      await this.#checkQuota(object);
    }
    try {
      return versionOf(await this.#in.api.create(CONFIG_MAPS, object, MANAGER));
    } catch (problem) {
      throw isStatus(problem, 409) ? alreadyExists(name) : problemOfApi(problem);
    }
  }

  async replace(name: string, value: unknown, version: string): Promise<string> {
    const object = this.#objectOf(name, value, version);
    const live = BOUNDED.has(this.#kind) ? await this.#live(name) : undefined;
    if (live) await this.#checkQuota(object, live);
    try {
      return versionOf(await this.#in.api.replace(CONFIG_MAPS, object, MANAGER));
    } catch (problem) {
      throw isStatus(problem, 404, 409) ? stale(name) : problemOfApi(problem);
    }
  }

  async delete(name: string, version?: string): Promise<boolean> {
    const place = { namespace: this.#in.namespace, name: this.#objectName(name) };
    const options = version === undefined ? {} : { resourceVersion: version };
    try {
      const gone = await this.#in.api.delete(CONFIG_MAPS, place, options);
      if (!gone && version !== undefined) throw stale(name);
      return gone;
    } catch (problem) {
      throw isStatus(problem, 409) ? stale(name) : problemOfApi(problem);
    }
  }

  /** Child objects of resources never have such a name, because theirs contain no dots. */
  #objectName(name: string): string {
    return `${prefixOf(this.#in.apiGroup)}.${this.#kind}.${keyOf(name)}`;
  }

  async #live(name: string): Promise<KubeObject | undefined> {
    try {
      return await this.#in.api.get(CONFIG_MAPS, { namespace: this.#in.namespace, name: this.#objectName(name) });
    } catch (problem) {
      if (isStatus(problem, 404)) return undefined;
      throw problemOfApi(problem);
    }
  }

  #objectOf(name: string, value: unknown, resourceVersion?: string): KubeObject {
    const metadata = {
      name: this.#objectName(name),
      namespace: this.#in.namespace,
      labels: { 'app.kubernetes.io/managed-by': MANAGER.fieldManager, [labelOf(this.#in.apiGroup)]: this.#kind },
      annotations: { [NAME]: name, [WRITE]: randomBytes(9).toString('base64url') },
      ...(resourceVersion !== undefined && { resourceVersion }),
    };
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { [DOCUMENT]: textOf(name, value) } };
  }

  #read(object: KubeObject): StoredRecord {
    const { data, metadata } = object;
    const name = metadata.annotations?.[NAME];
    const text = z.object({ [DOCUMENT]: z.string() }).safeParse(data).data?.[DOCUMENT];
    try {
      if (name === undefined || text === undefined || metadata.labels?.[labelOf(this.#in.apiGroup)] !== this.#kind)
        throw new Error('label, annotation or document are missing');
      return { name, value: JSON.parse(text), version: versionOf(object) };
    } catch (cause) {
      const what = `ConfigMap ${metadata.name} is no record as vmcp writes it`;
      throw new Problem('store_damaged', `${what}: restore it from a backup, or delete it`, { cause });
    }
  }
}

function notListed(kind: RecordKind, namespace: string): Problem {
  const what = `the records of ${kind} in namespace "${namespace}" are longer than ${LONGEST_LIST} bytes together`;
  return new Problem('unavailable', `${what}, and are not listed: take some away`);
}

function quotaExceeded(kind: RecordKind, namespace: string): Problem {
  const what = `the records of ${kind} in namespace "${namespace}" would be longer than ${LONGEST_WRITTEN} bytes together`;
  return new Problem('too_large', `${what}: take some away first, or send a shorter one`);
}

const sizeOf = (object: KubeObject): number => Buffer.byteLength(JSON.stringify(object));

const MANAGER = { fieldManager: 'vmcp-management' };

/** Separates two API groups in one namespace. The default group keeps its prefix from before other groups existed. */
function prefixOf(apiGroup: string): string {
  if (apiGroup === DEFAULT_API_GROUP) return 'vmcp';
  return `vmcp-${createHash('sha256').update(apiGroup).digest('hex').slice(0, 10)}`;
}

function versionOf({ metadata }: KubeObject): string {
  return metadata.resourceVersion ?? '';
}

export function configMapRecords(where: RecordsInCluster): Records {
  return (kind) => new ConfigMapRecords(where, kind);
}
