import type { KubeApi } from '#operator/kubernetes/api/api';
import { listAll } from '#operator/kubernetes/api/list-all';
import { manifestOf } from '#operator/kubernetes/api/object';
import { ownResource } from '#operator/kubernetes/api/resources';
import type { Kind, Manifest } from '#operator/snapshot';

export interface Installation {
  api: KubeApi;
  apiGroup: string;
}

/** Lists one namespace or all. @throws ApiError */
export async function listManifests(
  { api, apiGroup }: Installation,
  kind: Kind,
  namespace: string | undefined,
): Promise<Manifest[]> {
  const found: Manifest[] = [];
  for await (const item of listAll(api, ownResource(kind, apiGroup), { namespace })) found.push(manifestOf(kind, item));
  return found;
}
