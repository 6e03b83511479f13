import type { AuthServer as AuthServerConfig } from '#crds/run-config/auth-server';
import { ALGORITHMS } from '#runtime/incoming/algorithms';
import { jsonAnswer, type Handler } from './handler.ts';
import type { SigningKeys } from './keys/signing-keys.ts';
import { JWT_BEARER } from './token/issue-tokens.ts';
import { authServerUrls } from './urls.ts';

const ID_JAG = 'urn:ietf:params:oauth:grant-profile:id-jag';
/** Seconds. A new key is published two minutes before it signs. */
const MAX_AGE = 60;
const CACHED = { 'Cache-Control': `public, max-age=${MAX_AGE}` };

/** RFC 8414 §2, plus what OpenID Connect Discovery requires: some clients read only that. The server issues no ID tokens (`openid`). */
export function authServerMetadata(config: AuthServerConfig): Readonly<Record<string, unknown>> {
  const urls = authServerUrls(config);
  const { registration, introspection_clients: introspection, cimd, scopes_supported } = config;
  const methods = authenticationMethods(config);
  const hasMachines = config.clients.some(({ grants }) => grants.includes('client_credentials'));
  const redeems = config.identity_assertions.length > 0;
  return {
    issuer: urls.issuer,
    authorization_endpoint: urls.authorize,
    token_endpoint: urls.token,
    jwks_uri: urls.jwks,
    ...(registration.enabled && { registration_endpoint: urls.register }),
    scopes_supported,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: [
      'authorization_code',
      'refresh_token',
      ...(hasMachines ? ['client_credentials'] : []),
      ...(redeems ? [JWT_BEARER] : []),
    ],
    ...(redeems && { authorization_grant_profiles_supported: [ID_JAG] }),
    token_endpoint_auth_methods_supported: methods,
    ...(methods.includes('private_key_jwt') && { token_endpoint_auth_signing_alg_values_supported: ALGORITHMS }),
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    revocation_endpoint: urls.revoke,
    revocation_endpoint_auth_methods_supported: methods,
    ...(methods.includes('private_key_jwt') && { revocation_endpoint_auth_signing_alg_values_supported: ALGORITHMS }),
    ...(introspection.length > 0 && {
      introspection_endpoint: urls.introspect,
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    }),
    ...(cimd.enabled && { client_id_metadata_document_supported: true }),
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  };
}

/** `none` comes first, because some clients take the first one. The MCP SDK drops its secret unless a method for it is listed. */
function authenticationMethods(config: AuthServerConfig): readonly string[] {
  const asserted = config.identity_assertions.flatMap(({ clients }) => clients);
  const clients = [...config.clients, ...asserted.map((client) => ({ jwks: undefined, ...client }))];
  const hasSecrets = clients.some(({ client_secret_file: file }) => file !== undefined);
  const hasKeys = clients.some(({ jwks, jwks_url: url }) => jwks !== undefined || url !== undefined);
  return [
    'none',
    ...(hasSecrets ? ['client_secret_basic', 'client_secret_post'] : []),
    ...(hasKeys ? ['private_key_jwt'] : []),
  ];
}

/** Creates the metadata endpoint (RFC 8414 §3). The document depends on the configuration only. */
export function createMetadataHandler(config: AuthServerConfig): Handler {
  const answer = jsonAnswer(authServerMetadata(config), 200, CACHED);
  return () => Promise.resolve(answer);
}

/** Creates the key set endpoint (RFC 7517 §5). */
export function createJwksHandler(keys: Pick<SigningKeys, 'jwks'>): Handler {
  return () => Promise.resolve(jsonAnswer(keys.jwks, 200, { ...CACHED, 'Content-Type': 'application/jwk-set+json' }));
}
