import { ApiError } from '../api/api-error.ts';
import type { KubeApi } from '../api/api.ts';
import type { OwnerReference, Place } from '../api/object.ts';
import { childResource } from '../api/resources.ts';

/** Returns the operator's Deployment, with which the cluster removes the operator's objects; undefined outside of a cluster. */
export async function findOwner(api: KubeApi, place: Required<Place>): Promise<OwnerReference | undefined> {
  const [apiVersion, kind] = ['apps/v1', 'Deployment'];
  try {
    const { metadata } = await api.get(childResource({ apiVersion, kind }), place);
    return metadata.uid === undefined ? undefined : { apiVersion, kind, name: metadata.name, uid: metadata.uid };
  } catch (problem) {
    if (problem instanceof ApiError) return undefined;
    throw problem;
  }
}
