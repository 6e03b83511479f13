import { ApiError } from '../api/api-error.ts';
import type { KubeApi } from '../api/api.ts';
import type { OwnerReference, Place } from '../api/object.ts';
import { childResource } from '../api/resources.ts';

/**
 * Returns the operator's Deployment as an owner reference, so that the cluster removes the operator's objects with it. Returns undefined if
 * there is none, as on a developer's machine; the Lease works without.
 */
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
