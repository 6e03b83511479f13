import type { UserToken } from '#runtime/authserver/user-tokens';
import type { TokenExchange } from '#crds/run-config/outgoing';
import type { Identity } from '#runtime/incoming/identity';
import { warnOfPlainHttp } from './ask-token-endpoint.ts';
import type { CredentialDeps } from './credential-deps.ts';
import type { Credential } from './credential.ts';
import { ExchangeCredential, type Grant } from './exchange-credential.ts';
import { ownSubject, storedSubject } from './exchange-subject.ts';
import { exchangeToken } from './exchange-token.ts';
import { accountOf, createIdTokens, endOf } from './id-tokens.ts';

const ID_TOKEN = /(^|:)id_token$/;

/** Exchanges the caller's own or stored token (RFC 8693). The cache key is configuration and subject token. @throws ConfigError */
export function tokenExchange(auth: TokenExchange, deps: CredentialDeps): Credential {
  warnOfPlainHttp(auth.token_url, deps);
  const { subject_provider_name: provider, subject_token_type: type = 'access_token' } = auth;
  const currentIdToken = provider !== undefined && ID_TOKEN.test(type) ? createIdTokens(provider, deps) : undefined;
  const exchange = {
    authType: 'tokenExchange',
    provider,
    isShared: false,
    headerName: auth.external_token_header_name,
    caBundleFile: auth.ca_bundle_file,
    secretFiles: [auth.client_secret_file],
    ...(currentIdToken && { checkStored: currentIdToken }),
    grantFor(identity: Identity, stored: UserToken | undefined): Grant {
      if (stored && currentIdToken) return idTokenGrant(auth, identity, () => currentIdToken(identity, stored), stored);
      const subject = stored ? storedSubject(identity, stored) : ownSubject(identity, deps.backend, deps.now());
      const { key, expiresAt, text } = subject;
      return { key, expiresAt, obtain: exchangeToken.bind(undefined, auth, text) };
    },
  };
  return new ExchangeCredential(auth, exchange, deps);
}

/** The exchanged token is not used longer than the ID token is valid. The stored expiry is that of the access token. */
function idTokenGrant(
  auth: TokenExchange,
  identity: Identity,
  current: () => Promise<string>,
  { idToken }: UserToken,
): Grant {
  return {
    // Two users may link one account, but never share exchanged tokens.
    key: JSON.stringify([identity.key, accountOf(idToken)]),
    expiresAt: Infinity,
    async obtain(requester) {
      const text = await current();
      const issued = await exchangeToken(auth, text, requester);
      return { ...issued, expiresAt: Math.min(issued.expiresAt, endOf(text)) };
    },
  };
}
