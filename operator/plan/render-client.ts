import type { IdentityAssertionIssuer } from '#crds/parts/identity-assertions';
import type { RegisteredClient } from '#crds/parts/registered-client';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { defined } from './defined.ts';
import type { FileList } from './file-list.ts';

type AuthServerDocument = NonNullable<RunConfigDocument['embedded_auth_server_config']>;
type ClientDocument = NonNullable<AuthServerDocument['clients']>[number];
type IssuerDocument = NonNullable<AuthServerDocument['identity_assertions']>[number];

/** Renders a client that the administrator registered. @throws Waiting for a missing secret or ConfigMap */
export function renderClient(client: RegisteredClient, files: FileList): ClientDocument {
  const { clientSecretRef: secret, caBundleRef: authorities } = client;
  const field = `authServerConfig.clients[${client.clientId}]`;
  return defined({
    client_id: client.clientId,
    display_name: client.displayName,
    verified: client.verified,
    client_secret_file: secret && files.credential(secret, `${field}.clientSecretRef`),
    jwks: client.jwks,
    jwks_url: client.jwksUrl,
    ca_bundle_file: authorities && files.authorities(authorities, `${field}.caBundleRef`),
    redirect_uris: client.redirectUris,
    grants: client.grants,
    scopes: client.scopes,
    consent: client.consent,
  });
}

/** Renders an identity provider whose assertions clients redeem. @throws Waiting for a missing secret or ConfigMap */
export function renderAssertionIssuer(config: IdentityAssertionIssuer, files: FileList): IssuerDocument {
  const { caBundleRef: authorities } = config;
  const field = `authServerConfig.identityAssertions[${config.issuer}]`;
  const clients = config.clients.map(({ clientId, clientSecretRef: secret, jwksUrl }) =>
    defined({
      client_id: clientId,
      client_secret_file: secret && files.credential(secret, `${field}.clients[${clientId}].clientSecretRef`),
      jwks_url: jwksUrl,
    }),
  );
  return defined({
    issuer: config.issuer,
    jwks_url: config.jwksUrl,
    ca_bundle_file: authorities && files.authorities(authorities, `${field}.caBundleRef`),
    clients,
    subject_claim: config.subjectClaim,
    email_claim: config.emailClaim,
    groups_claim: config.groupsClaim,
    tenant: config.tenant,
    scopes: config.scopes,
    max_lifetime: config.maxLifetime,
  });
}
