import { createHash } from 'node:crypto';
import type { StepRequest } from './provider.ts';

interface ClientAtProvider {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly additional: Readonly<Record<string, string>>;
}

/** Returns the parameters of an authorization request (RFC 6749 §4.1.1) with PKCE (RFC 7636). */
export function authorizationParameters(
  { state, verifier, forceLogin }: StepRequest,
  { clientId, redirectUri, scopes, additional }: ClientAtProvider,
): Readonly<Record<string, string>> {
  const prompts = new Set([...(forceLogin ? ['login'] : []), ...(additional.prompt ?? '').split(' ')].filter(Boolean));
  // OpenID Connect Core §3.1.2.1: `none` excludes other values.
  if (forceLogin) prompts.delete('none');
  return {
    ...additional,
    ...(prompts.size > 0 && { prompt: [...prompts].join(' ') }),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
}
