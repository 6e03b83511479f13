import { z } from 'zod';
import { text } from '#crds/parts/primitives';
import type { ClusterFacts } from '#operator/snapshot';
import type { KubeApi } from '../api/api.ts';

const Discovery = z.object({ issuer: text(2048) });
const KeySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });

export type ClusterIssuer = Required<Pick<ClusterFacts, 'issuer' | 'keySet'>>;

/** Calls only the operator's own API server, as the request carries its token. @throws ApiError, or ZodError for an invalid document */
export async function readClusterIssuer(api: KubeApi): Promise<ClusterIssuer> {
  const [discovery, keySet] = await Promise.all([
    api.getPath('/.well-known/openid-configuration'),
    api.getPath('/openid/v1/jwks'),
  ]);
  const { issuer } = Discovery.parse(discovery);
  const { keys } = KeySet.parse(keySet);
  // Sorts the keys, as their order does not matter.
  return { issuer, keySet: { keys: keys.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) } };
}
