import type { Xaa } from '#crds/run-config/outgoing';
import { LoginNeeded, type UserToken } from '#runtime/authserver/user-tokens';
import type { Identity } from '#runtime/incoming/identity';
import { askTokenEndpoint, type TokenRequester, warnOfPlainHttp } from './ask-token-endpoint.ts';
import { type IssuedToken, readAssertionAnswer, readTokenAnswer } from './check-exchange-answer.ts';
import type { CredentialDeps } from './credential-deps.ts';
import type { Credential } from './credential.ts';
import { ExchangeCredential } from './exchange-credential.ts';
import { GRANT as TOKEN_EXCHANGE, TOKEN_TYPE } from './exchange-token.ts';
import { accountOf, createIdTokens } from './id-tokens.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/**
 * Enterprise-managed authorization: exchanges the caller's stored ID token for an ID-JAG at the identity provider, and redeems it at the
 * backend's authorization server. The token is cached per caller and account at the provider. @throws ConfigError
 */
export function xaa(auth: Xaa, deps: CredentialDeps): Credential {
  warnOfPlainHttp(auth.target_token_url, deps);
  const currentIdToken = createIdTokens(auth.subject_provider_name, deps);
  const exchange = {
    authType: 'xaa',
    provider: auth.subject_provider_name,
    isShared: false,
    isSingleUse: true,
    headerName: undefined,
    caBundleFile: auth.ca_bundle_file,
    secretFiles: [auth.idp_client_secret_file, auth.target_client_secret_file],
    checkStored: currentIdToken,
    grantFor: (identity: Identity, stored: UserToken | undefined) => ({
      key: JSON.stringify([identity.key, accountOf(stored?.idToken)]),
      // An unlinked account has no stored token, so a cached token is not found then.
      expiresAt: Infinity,
      async obtain(requester: TokenRequester): Promise<IssuedToken> {
        if (stored === undefined) throw new LoginNeeded(auth.subject_provider_name);
        return redeem(auth, await requestAssertion(auth, await currentIdToken(identity, stored), requester), requester);
      },
    }),
  };
  return new ExchangeCredential(auth, exchange, deps);
}

type Assertion = ReturnType<typeof readAssertionAnswer> & { readonly idToken: string };

async function requestAssertion(auth: Xaa, idToken: string, requester: TokenRequester): Promise<Assertion> {
  const { target_audience: audience, target_resource: resource, scopes } = auth;
  const form = new URLSearchParams({
    grant_type: TOKEN_EXCHANGE,
    requested_token_type: `${TOKEN_TYPE}id-jag`,
    audience,
    ...(resource !== undefined && { resource }),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    subject_token: idToken,
    subject_token_type: `${TOKEN_TYPE}id_token`,
  });
  const clientSecret = requester.secretOf(auth.idp_client_secret_file);
  const request = { url: auth.idp_token_url, form, clientId: auth.idp_client_id, clientSecret, triesBody: true };
  const answer = await askTokenEndpoint(request, requester);
  const { backend, now } = requester;
  const expected = { backend, audience, resource, scopes, subjectToken: idToken, now: now() };
  return { ...readAssertionAnswer(answer, expected), idToken };
}

/** Redeems an assertion once (RFC 7523 §2.1). */
async function redeem(auth: Xaa, { text, scopes }: Assertion, requester: TokenRequester): Promise<IssuedToken> {
  const { target_resource: resource } = auth;
  const form = new URLSearchParams({
    grant_type: JWT_BEARER,
    assertion: text,
    ...(resource !== undefined && { resource }),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  });
  const clientSecret = requester.secretOf(auth.target_client_secret_file);
  const clientId = auth.target_client_id;
  const request = { url: auth.target_token_url, form, clientId, clientSecret, isSingleUse: true };
  const answer = await askTokenEndpoint(request, requester);
  const { backend, now } = requester;
  return readTokenAnswer(answer, { backend, scopes: auth.scopes, subjectToken: text, now: now() });
}
