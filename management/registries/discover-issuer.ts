import * as oidc from 'openid-client';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import type { HttpClient } from '../fetching/http-client.ts';
import { readBody } from '../fetching/read-body.ts';

/** Bytes. */
const LONGEST = 524_288;
const DEADLINE = 8_000;

/** Uses OpenID Connect Discovery, else RFC 8414. All requests follow the address rules of `http`. @throws FetchFailure */
export async function discoverIssuer(
  { issuer, clientId, clientSecret }: { issuer: string; clientId: string; clientSecret: string | undefined },
  http: HttpClient,
): Promise<oidc.Configuration> {
  const find = (algorithm: 'oidc' | 'oauth2') =>
    oidc.discovery(new URL(issuer), clientId, undefined, authenticate(clientSecret), {
      algorithm,
      // HttpClient decides for each call whether plain HTTP is allowed.
      // eslint-disable-next-line @typescript-eslint/no-deprecated
      execute: [oidc.allowInsecureRequests],
      [oidc.customFetch]: issuerFetch(http),
    });
  try {
    return await find('oidc').catch((error: unknown) => {
      if (failureIn(error)) throw error;
      return find('oauth2');
    });
  } catch (error) {
    throw failureOfIssuer(error, issuer);
  }
}

/** Uses the method that the issuer supports (OpenID Connect Core §9: basic by default). */
function authenticate(secret: string | undefined): oidc.ClientAuth {
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const isPost = !methods.includes('client_secret_basic') && methods.includes('client_secret_post');
    const method = isPost ? oidc.ClientSecretPost : oidc.ClientSecretBasic;
    (secret === undefined ? oidc.None() : method(secret))(server, client, body, headers);
  };
}

function issuerFetch(http: HttpClient): oidc.CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const signals = [AbortSignal.timeout(DEADLINE), ...(signal ? [signal] : [])];
    const answer = await http.call(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      body: body instanceof URLSearchParams ? body.toString() : undefined,
      signal: AbortSignal.any(signals),
    });
    const text = await readBody(answer, LONGEST);
    const type = answer.headers['content-type'];
    const isEmpty = answer.status === 204 || answer.status === 304;
    return new Response(isEmpty ? null : new Uint8Array(text), {
      status: answer.status,
      headers: type === undefined ? {} : { 'content-type': type },
    });
  };
}

/** Errors of the library contain request and response data; only the error code (RFC 6749 §5.2) is kept. */
export function failureOfIssuer(error: unknown, issuer: string): FetchFailure {
  const own = failureIn(error);
  if (own) return own;
  const { host } = new URL(issuer);
  if (error instanceof oidc.ResponseBodyError)
    return new FetchFailure('unexpected', `${host} refuses: ${error.error}`, { status: error.status });
  return new FetchFailure('unexpected', `${host} does not answer as an issuer of tokens`);
}

function failureIn(error: unknown): FetchFailure | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 4; cause = cause.cause, depth += 1)
    if (cause instanceof FetchFailure) return cause;
  return undefined;
}
