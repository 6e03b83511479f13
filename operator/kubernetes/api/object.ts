import { ApiError } from './api-error.ts';

/** Metadata as an object of the API server has it; what is not listed is passed through. */
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

/** An object as it is on the wire. Never passed through a typed serializer, which would drop fields. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** Where objects of one kind live. `group` is '' for the core group. */
export interface Resource {
  group: string;
  version: string;
  plural: string;
  namespaced: boolean;
}

/** Which object of a resource. `namespace` is absent for what lives in none. */
export interface Place {
  namespace?: string;
  name: string;
}

/**
 * Path below the API server's address: of all objects, those of one namespace, one object, or a subresource of it.
 * @throws ApiError for a name that would be another path: no object can have it
 */
export function pathOf(resource: Resource, { namespace, name }: Partial<Place> = {}, subresource?: string): string {
  const { group, version, plural, namespaced } = resource;
  const parts = group === '' ? ['api', version] : ['apis', group, version];
  if (namespaced && namespace !== undefined) parts.push('namespaces', namespace);
  parts.push(plural);
  if (name !== undefined) parts.push(name);
  if (subresource !== undefined) parts.push(subresource);
  return `/${parts.map(partOf).join('/')}`;
}

/** The API server decodes a path before it takes it apart, and whoever sends a URL takes dots out of it. */
function partOf(text: string): string {
  if (text !== '' && text !== '.' && text !== '..' && !/[/%]/.test(text)) return encodeURIComponent(text);
  throw new ApiError(`${JSON.stringify(text)}: no object can be called so`, { status: 400, reason: 'BadRequest' });
}

/** `namespace/name`, or the name alone for what lives in no namespace. Unique within one resource. */
export function placeText({ namespace, name }: Place): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Where an object is, as it says itself. */
export function placeIn({ namespaced }: Resource, { metadata }: KubeObject): Place {
  const { name, namespace } = metadata;
  return namespaced && namespace !== undefined ? { namespace, name } : { name };
}
