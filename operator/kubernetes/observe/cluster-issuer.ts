import { z } from 'zod';
import type { ClusterFacts } from '#operator/world';
import type { KubeApi } from '../api/api.ts';

const Discovery = z.object({ issuer: z.string().min(1).max(2048) });
const KeySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });

export type ClusterIssuer = Required<Pick<ClusterFacts, 'issuer' | 'keySet'>>;

/**
 * Issuer and keys of the service account tokens of the operator's own API server. No address from anywhere else is asked,
 * and so nobody else gets the operator's token. Throws an ApiError, or a ZodError for what is no such document.
 */
export async function readClusterIssuer(api: KubeApi): Promise<ClusterIssuer> {
  const [discovery, keySet] = await Promise.all([
    api.getPath('/.well-known/openid-configuration'),
    api.getPath('/openid/v1/jwks'),
  ]);
  const { issuer } = Discovery.parse(discovery);
  const { keys } = KeySet.parse(keySet);
  // The same keys in another order are no news.
  return { issuer, keySet: { keys: keys.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) } };
}
