import type { RegisteredClient } from '#crds/parts/registered-client';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { defined } from './defined.ts';
import type { FileList } from './file-list.ts';

type AuthServerDocument = NonNullable<RunConfigDocument['embedded_auth_server_config']>;
type ClientDocument = NonNullable<AuthServerDocument['clients']>[number];

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
