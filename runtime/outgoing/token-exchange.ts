import type { UserToken } from '#runtime/authserver/user-tokens';
import type { TokenExchange } from '#crds/run-config/outgoing';
import type { Identity } from '#runtime/incoming/identity';
import { warnOfPlainHttp } from './ask-token-endpoint.ts';
import type { CredentialDeps } from './credential-deps.ts';
import type { Credential } from './credential.ts';
import { ExchangeCredential } from './exchange-credential.ts';
import { ownSubject, storedSubject } from './exchange-subject.ts';
import { exchangeToken } from './exchange-token.ts';

/** Exchanges the caller's own or stored token (RFC 8693). The cache key is configuration and subject token. @throws ConfigError */
export function tokenExchange(auth: TokenExchange, deps: CredentialDeps): Credential {
  warnOfPlainHttp(auth.token_url, deps);
  const subjectOf = (identity: Identity, stored: UserToken | undefined) =>
    stored === undefined
      ? ownSubject(identity, deps.backend, deps.now())
      : storedSubject(identity, stored, auth, deps.backend);
  const exchange = {
    authType: 'tokenExchange',
    provider: auth.subject_provider_name,
    isShared: false,
    headerName: auth.external_token_header_name,
    caBundleFile: auth.ca_bundle_file,
    secretFiles: [auth.client_secret_file],
    grantFor(identity: Identity, stored: UserToken | undefined) {
      const { key, expiresAt, text } = subjectOf(identity, stored);
      return { key, expiresAt, obtain: exchangeToken.bind(undefined, auth, text) };
    },
  };
  return new ExchangeCredential(auth, exchange, deps);
}
