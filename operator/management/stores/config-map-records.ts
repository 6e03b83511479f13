import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { DEFAULT_API_GROUP } from '#crds/kinds/kind-names';
import { isStatus } from '#operator/kubernetes/api/api-error';
import { listAll } from '#operator/kubernetes/api/list-all';
import type { KubeApi } from '#operator/kubernetes/api/api';
import type { KubeObject } from '#operator/kubernetes/api/object';
import { isTooLong } from '#operator/kubernetes/api/read-page';
import { CONFIG_MAPS } from '#operator/kubernetes/api/resources';
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

/** Bytes of all documents of a kind: who may write records may write long ones. */
const LONGEST_LIST = 16 * 1024 * 1024;

/** Key of `data` with the document. */
const DOCUMENT = 'record.json';

/** Label with the kind of a record: two installations with two API groups share none. */
const labelOf = (apiGroup: string): string => `${apiGroup}/record`;
/** Selects the records of a kind that are those of an API group. */
export const recordSelector = (kind: RecordKind, apiGroup: string): string => `${labelOf(apiGroup)}=${kind}`;
/** Annotation with its name. */
const NAME = 'vmcp.dev/record-name';
/** Annotation that no two writes have in common: the API server counts up for what differs only. */
const WRITE = 'vmcp.dev/write';

/** Where the ConfigMaps are. */
interface RecordsInCluster {
  api: KubeApi;
  namespace: string;
  /** Of the kinds that the records are about. */
  apiGroup: string;
}

/** A ConfigMap for each record, found by its label; its resourceVersion is the record's version. */
class ConfigMapRecords implements RecordStore {
  readonly #in: RecordsInCluster;
  readonly #kind: RecordKind;

  constructor(where: RecordsInCluster, kind: RecordKind) {
    this.#in = where;
    this.#kind = kind;
  }

  async list(): Promise<StoredRecord[]> {
    const records = await this.#all((object) => this.#read(object), {});
    return records.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async names(): Promise<string[]> {
    const names = await this.#all(({ metadata }) => metadata.annotations?.[NAME], { metadataOnly: true });
    return names.filter((name) => name !== undefined).sort();
  }

  async #all<T>(read: (object: KubeObject) => T, { metadataOnly }: { metadataOnly?: boolean }): Promise<T[]> {
    const { namespace, api, apiGroup } = this.#in;
    const selection = { namespace, labelSelector: recordSelector(this.#kind, apiGroup), metadataOnly };
    const found: T[] = [];
    const longest = metadataOnly === true ? Infinity : LONGEST_LIST;
    try {
      for await (const object of listAll(api, CONFIG_MAPS, selection, longest)) {
        if (found.push(read(object)) === MOST_RECORDS) break;
      }
    } catch (problem) {
      throw isTooLong(problem) ? tooLong(this.#kind, namespace) : problemOfApi(problem);
    }
    return found;
  }

  async get(name: string): Promise<StoredRecord | undefined> {
    const object = await this.#live(name);
    return object && this.#read(object);
  }

  async create(name: string, value: unknown): Promise<string> {
    const object = this.#objectOf(name, value);
    if ((await this.names()).length >= MOST_RECORDS) throw tooMany();
    try {
      return versionOf(await this.#in.api.create(CONFIG_MAPS, object, MANAGER));
    } catch (problem) {
      throw isStatus(problem, 409) ? alreadyExists(name) : problemOfApi(problem);
    }
  }

  async replace(name: string, value: unknown, version: string): Promise<string> {
    const object = this.#objectOf(name, value, version);
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

  /** No child of a resource has such a name: theirs have no dots. */
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

function tooLong(kind: RecordKind, namespace: string): Problem {
  const what = `the records of ${kind} in namespace "${namespace}" are longer than ${LONGEST_LIST} bytes together`;
  return new Problem('store_damaged', `${what}: delete the ConfigMaps that are no longer needed`);
}

const MANAGER = { fieldManager: 'vmcp-management' };

/** Two groups have records of one name in one namespace; the usual group's have been called so since before there was another. */
function prefixOf(apiGroup: string): string {
  if (apiGroup === DEFAULT_API_GROUP) return 'vmcp';
  return `vmcp-${createHash('sha256').update(apiGroup).digest('hex').slice(0, 10)}`;
}

function versionOf({ metadata }: KubeObject): string {
  return metadata.resourceVersion ?? '';
}

/** Stores in ConfigMaps of one namespace. */
export function configMapRecords(where: RecordsInCluster): Records {
  return (kind) => new ConfigMapRecords(where, kind);
}
