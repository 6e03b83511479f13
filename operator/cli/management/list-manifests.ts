import type { KubeApi } from '#operator/kubernetes/api/api';
import type { NextPage } from '#operator/kubernetes/api/read-page';
import { manifestOf } from '#operator/kubernetes/api/manifest-of';
import { ownResource } from '#operator/kubernetes/api/resources';
import type { Kind, Manifest } from '#operator/world';

/** Resources that are read at a time. */
const PAGE = 500;

/** An API server, and the API group by which it serves the kinds. */
export interface Installation {
  api: KubeApi;
  apiGroup: string;
}

/** All resources of a kind, of a namespace or of all. @throws ApiError */
export async function listManifests(
  { api, apiGroup }: Installation,
  kind: Kind,
  namespace: string | undefined,
): Promise<Manifest[]> {
  const found: Manifest[] = [];
  let next: NextPage | undefined;
  do {
    const page = await api.list(ownResource(kind, apiGroup), { namespace }, { limit: PAGE, next });
    found.push(...page.items.map((item) => manifestOf(kind, item)));
    ({ next } = page);
  } while (next !== undefined);
  return found;
}
