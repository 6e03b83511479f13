import { FailedAt } from './failure-at.ts';
import { randomBytes } from 'node:crypto';
import type {
  AuthorizationServerMetadata,
  FetchLike,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { z } from 'zod';

/** Kept between runs. */
export interface Remembered {
  client?: StoredOAuthClientInformation | undefined;
  tokens?: StoredOAuthTokens | undefined;
}

export interface OAuthClient {
  provider: OAuthClientProvider;
  /** Returns undefined before the login starts. */
  state: () => string | undefined;
  remembered: Readonly<Remembered>;
  /** Returns undefined before discovery. */
  metadata: () => AuthorizationServerMetadata | undefined;
}

/** Creates a public client; `open` receives the login URL. */
export function createOAuthClient(
  redirectUrl: string,
  clientName: string,
  open: (authorizeUrl: URL) => void | Promise<void>,
  known: Remembered = {},
): OAuthClient {
  const remembered: Remembered = { ...known };
  let state: string | undefined;
  let verifier = '';
  let discovery: OAuthDiscoveryState | undefined;
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: {
      client_name: clientName,
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
    state() {
      state = randomBytes(32).toString('base64url');
      return state;
    },
    clientInformation: () => remembered.client,
    saveClientInformation(client) {
      remembered.client = client;
    },
    tokens: () => remembered.tokens,
    saveTokens(tokens) {
      remembered.tokens = tokens;
    },
    redirectToAuthorization: open,
    saveCodeVerifier(made) {
      verifier = made;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState(found) {
      discovery = found;
    },
    discoveryState: () => discovery,
    invalidateCredentials(what) {
      if (what === 'all' || what === 'client') remembered.client = undefined;
      if (what === 'all' || what === 'tokens') remembered.tokens = undefined;
      if (what === 'all' || what === 'discovery') discovery = undefined;
    },
  };
  return { provider, state: () => state, remembered, metadata: () => discovery?.authorizationServerMetadata };
}

/** Milliseconds. */
const REQUEST = 10_000;

/** Requests to the endpoint have no deadline, because its streams stay open. The fetch throws FailedAt without an answer. */
export function boundedFetch(endpoint: URL): FetchLike {
  return async (url, init) => {
    const isBounded = new URL(url).pathname !== endpoint.pathname;
    const signals = [...(isBounded ? [AbortSignal.timeout(REQUEST)] : []), ...(init?.signal ? [init.signal] : [])];
    try {
      return await fetch(url, { ...init, signal: AbortSignal.any(signals) });
    } catch (cause) {
      if (init?.signal?.aborted === true) throw cause;
      throw new FailedAt(new URL(url), cause);
    }
  };
}

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
