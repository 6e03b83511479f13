import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import type { ClientCredentials } from '#crds/run-config/outgoing';
import { readSigningKey } from '#runtime/authserver/keys/load-signing-key';
import { askTokenEndpoint, type TokenRequester, warnOfPlainHttp } from './ask-token-endpoint.ts';
import { type IssuedToken, readTokenAnswer } from './check-exchange-answer.ts';
import type { CredentialDeps } from './credential-deps.ts';
import type { Credential } from './credential.ts';
import { ExchangeCredential } from './exchange-credential.ts';

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** Milliseconds. */
const ASSERTION_LIFETIME = 60_000;

/** Sends a token of vmcp's own client, the same for all callers (RFC 6749 §4.4). @throws ConfigError */
export function clientCredentials(auth: ClientCredentials, deps: CredentialDeps): Credential {
  warnOfPlainHttp(auth.token_url, deps);
  const grant = { key: '', expiresAt: Infinity, obtain: requestToken.bind(undefined, auth) };
  const exchange = {
    authType: 'clientCredentials',
    isShared: true,
    isSingleUse: auth.private_key_file !== undefined,
    headerName: auth.external_token_header_name,
    caBundleFile: auth.ca_bundle_file,
    secretFiles: [auth.client_secret_file, auth.private_key_file],
    check: (secretOf: TokenRequester['secretOf']) => void keyOf(auth, secretOf),
    grantFor: () => grant,
  };
  return new ExchangeCredential(auth, exchange, deps);
}

async function requestToken(auth: ClientCredentials, requester: TokenRequester): Promise<IssuedToken> {
  const { audience, resource, scopes, client_id: clientId } = auth;
  const { backend, now, secretOf } = requester;
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    ...(audience !== undefined && { audience }),
    ...(resource !== undefined && { resource }),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    ...(await clientAssertion(auth, requester)),
  });
  const clientSecret = secretOf(auth.client_secret_file);
  const isSingleUse = clientSecret === undefined;
  const request = { url: auth.token_url, form, clientId, clientSecret, isSingleUse, triesBody: true };
  const answer = await askTokenEndpoint(request, requester);
  return readTokenAnswer(answer, { backend, audience, scopes, isOwn: true, now: now() });
}

/** Returns the form members of private_key_jwt (RFC 7523 §3); none for a client with a secret. */
async function clientAssertion(auth: ClientCredentials, { secretOf, now }: TokenRequester): Promise<object> {
  const key = keyOf(auth, secretOf);
  if (key === undefined) return {};
  const { client_id: client, private_key_id: kid, issuer: audience = auth.token_url } = auth;
  const issuedAt = now();
  const assertion = await new SignJWT()
    .setProtectedHeader({ alg: key.alg, typ: 'JWT', ...(kid !== undefined && { kid }) })
    .setIssuer(client)
    .setSubject(client)
    .setAudience(audience)
    .setJti(randomUUID())
    .setIssuedAt(new Date(issuedAt))
    .setExpirationTime(new Date(issuedAt + ASSERTION_LIFETIME))
    .sign(key.privateKey);
  return { client_assertion_type: ASSERTION_TYPE, client_assertion: assertion };
}

/** @throws ConfigError that names the file and the remedy */
function keyOf({ private_key_file: file = '' }: ClientCredentials, secretOf: TokenRequester['secretOf']) {
  const content = secretOf(file);
  return content === undefined ? undefined : readSigningKey(file, content);
}
