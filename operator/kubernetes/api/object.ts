import type { Kind, Manifest } from '#operator/snapshot';
import { ApiError } from './api-error.ts';

/** Metadata of an object of the API server. Unlisted fields pass unchanged. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  [field: string]: unknown;
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** An object as sent by the API server. A typed serializer would drop fields. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** A kind of objects in the API. `group` is '' for the core group. */
export interface Resource {
  group: string;
  version: string;
  plural: string;
  namespaced: boolean;
}

/** The name of an object. `namespace` is absent for cluster-scoped objects. */
export interface ObjectKey {
  namespace?: string;
  name: string;
}

/** Returns the path of objects, one object or its subresource. @throws ApiError for a name that would change the path: no object has it */
export function pathOf(resource: Resource, { namespace, name }: Partial<ObjectKey> = {}, subresource?: string): string {
  const { group, version, plural, namespaced } = resource;
  const parts = group === '' ? ['api', version] : ['apis', group, version];
  if (namespaced && namespace !== undefined) parts.push('namespaces', namespace);
  parts.push(plural);
  if (name !== undefined) parts.push(name);
  if (subresource !== undefined) parts.push(subresource);
  return `/${parts.map(partOf).join('/')}`;
}

/** Encodes a path segment. The API server decodes a path before splitting it, and HTTP clients remove dot segments. */
function partOf(text: string): string {
  if (text !== '' && text !== '.' && text !== '..' && !/[/%]/.test(text)) return encodeURIComponent(text);
  throw new ApiError(`${JSON.stringify(text)}: no object can be called so`, { status: 400, reason: 'BadRequest' });
}

/** Returns `namespace/name`, or the name alone for cluster-scoped objects. Unique within one resource. */
export function placeText({ namespace, name }: ObjectKey): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function placeIn({ namespaced }: Resource, { metadata }: KubeObject): ObjectKey {
  const { name, namespace } = metadata;
  return namespaced && namespace !== undefined ? { namespace, name } : { name };
}

/** Converts a namespaced resource for the planner. Items of a list do not state their kind. */
export function manifestOf(kind: Kind, object: KubeObject): Manifest {
  const { namespace = '', ...metadata } = object.metadata;
  return { ...object, kind, metadata: { ...metadata, namespace } };
}
