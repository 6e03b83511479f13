import { z } from 'zod';
import type { OAuthClient } from './oauth-client.ts';

/** Milliseconds. */
const DEADLINE = 5000;
const Revoking = z.object({ revocation_endpoint: z.url() });

/** Follows RFC 7009. Returns false if the server does not support or refuses revocation. */
export async function endLogin({ remembered: { client, tokens }, metadata }: OAuthClient): Promise<boolean> {
  const endpoint = Revoking.safeParse(metadata()).data?.revocation_endpoint;
  if (endpoint === undefined || client === undefined || tokens === undefined) return false;
  const { refresh_token: refresh, access_token: access } = tokens;
  const body = new URLSearchParams({
    client_id: client.client_id,
    token: refresh ?? access,
    token_type_hint: refresh === undefined ? 'access_token' : 'refresh_token',
  });
  try {
    const signal = AbortSignal.timeout(DEADLINE);
    const { ok } = await fetch(endpoint, { method: 'POST', body, redirect: 'error', signal });
    return ok;
  } catch {
    return false;
  }
}
