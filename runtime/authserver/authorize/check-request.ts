import { OAuthError } from '../errors.ts';
import type { AuthorizeRequest } from '../storage/rows.ts';
import type { CheckedClient } from './check-client.ts';
import { isRepeated, valueOf } from './parameters.ts';
import { isDocumentUrl } from '../register/document-url.ts';
import { resolveScope } from './resolve-scope.ts';

export interface RequestRules {
  /** Resources that tokens are issued for. The first is used when a client names none. */
  readonly resources: readonly [string, ...string[]];
  readonly scopesSupported: readonly string[];
}

const MAX_LENGTH = 2048;
const MAX_STATE = 4096;
const ONCE = [
  'response_type',
  'response_mode',
  'state',
  'scope',
  'code_challenge',
  'code_challenge_method',
  'prompt',
  'nonce',
  'request',
  'request_uri',
] as const;
/** SHA-256 in base64url (RFC 7636 §4.2). */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/** Returns the client's state, which every answer repeats. A repeated or very long state is dropped. */
export function stateOf(parameters: URLSearchParams): string | undefined {
  const state = valueOf(parameters, 'state');
  return state !== undefined && state.length <= MAX_STATE ? state : undefined;
}

/** Checks all parameters except client and redirect URI. The errors go back to the client. @throws OAuthError */
export function checkRequest(
  parameters: URLSearchParams,
  { client, redirectUri }: CheckedClient,
  rules: RequestRules,
): AuthorizeRequest {
  checkOnce(parameters);
  checkLengths(parameters);
  checkResponse(parameters);
  const code_challenge = checkChallenge(parameters);
  const resource = checkResource(parameters, rules.resources);
  return {
    client_id: client.client_id,
    redirect_uri: redirectUri,
    state: stateOf(parameters),
    code_challenge,
    scope: resolveScope(valueOf(parameters, 'scope'), scopesFor(client, rules)),
    resource,
    ...(isDocumentUrl(client.client_id) && { client_name: client.client_name }),
  };
}

/** @throws OAuthError when the server no longer supports any scope that the client registered with */
function scopesFor({ scope }: CheckedClient['client'], { scopesSupported }: RequestRules): readonly string[] {
  // `openid` does not count, here and in requests: it limits nothing.
  const registered = new Set(scope?.split(' ').filter((one) => one !== '' && one !== 'openid'));
  if (registered.size === 0) return scopesSupported;
  const left = scopesSupported.filter((one) => registered.has(one));
  if (left.length === 0)
    throw new OAuthError('invalid_scope', 'The client registered with scopes that there are not; register again');
  return left;
}

/** Rejects repeated parameters (RFC 6749 §3.1). */
function checkOnce(parameters: URLSearchParams): void {
  const twice = ONCE.find((name) => isRepeated(parameters, name));
  if (twice !== undefined) throw invalid(`${twice} must not come twice`);
}

function checkLengths(parameters: URLSearchParams): void {
  const long = ONCE.find(
    (name) =>
      (valueOf(parameters, name)?.length ?? 0) > (name === 'state' || name === 'scope' ? MAX_STATE : MAX_LENGTH),
  );
  if (long !== undefined) throw invalid(`${long} is too long`);
}

function checkResponse(parameters: URLSearchParams): void {
  const type = valueOf(parameters, 'response_type');
  if (type === undefined) throw invalid('response_type is missing');
  if (type !== 'code') throw new OAuthError('unsupported_response_type', 'The only response_type is code');
  const mode = valueOf(parameters, 'response_mode');
  if (mode !== undefined && mode !== 'query') throw invalid('The only response_mode is query');
  if (parameters.has('request') || parameters.has('request_uri')) throw invalid('Request objects are not supported');
}

/** Requires PKCE with S256 from every client. A missing method would mean `plain` (RFC 7636 §4.3, RFC 9700 §2.1.1). */
function checkChallenge(parameters: URLSearchParams): string {
  const challenge = valueOf(parameters, 'code_challenge');
  if (challenge === undefined) throw invalid('code_challenge is missing: PKCE is required');
  if (valueOf(parameters, 'code_challenge_method') !== 'S256') throw invalid('code_challenge_method must be S256');
  if (!CHALLENGE.test(challenge)) throw invalid('code_challenge is no SHA-256 in base64url');
  return challenge;
}

/** Accepts one resource, compared byte for byte (RFC 8707 §2). */
function checkResource(parameters: URLSearchParams, resources: RequestRules['resources']): string {
  const asked = parameters.getAll('resource').filter((value) => value !== '');
  if (asked.length > 1) throw new OAuthError('invalid_target', 'Only one resource can be asked for');
  const [resource = resources[0]] = asked;
  if (!resources.includes(resource)) {
    throw new OAuthError(
      'invalid_target',
      'The resource is not the URL of this endpoint; they are compared byte for byte',
    );
  }
  return resource;
}

const invalid = (text: string) => new OAuthError('invalid_request', text);
