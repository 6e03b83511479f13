import type { AuthServer, RegisteredClient as ClientConfig } from '#crds/run-config/auth-server';
import { isBlank } from '#crds/parts/primitives';
import { isGeneratedId } from '#crds/parts/registered-client';
import type { KeySet } from '#runtime/incoming/key-set';
import type { Refreshed } from '#runtime/incoming/refreshed';
import type { Client } from './client.ts';
import { isDocumentUrl } from './document-url.ts';
import { type KeySetDeps, openKeySet } from './open-key-set.ts';

export type ClientCredential =
  | { readonly type: 'none' }
  | { readonly type: 'secret'; readonly read: () => string }
  | { readonly type: 'keys'; readonly keys: Refreshed<KeySet> };

/** A client that the administrator registered. */
export interface RegisteredClient extends Client {
  /** Besides the assertions that it may redeem. */
  readonly grants: ClientConfig['grants'];
  readonly credential: ClientCredential;
}

export interface RegisteredClients {
  get(clientId: string): RegisteredClient | undefined;
  close(): void;
}

type Configured = Pick<ClientConfig, 'client_id'> & Partial<ClientConfig>;

/** Reads each secret at the start, so that an unusable file fails the start. An empty secret refuses its client only. @throws ConfigError */
export function openRegisteredClients(
  config: Pick<AuthServer, 'clients' | 'identity_assertions'>,
  deps: KeySetDeps,
): RegisteredClients {
  const closing: (() => void)[] = [];
  const clients = new Map(
    [...clientsOfAssertions(config), ...config.clients].map((client: Configured) => [
      client.client_id,
      { ...describeClient(client), grants: client.grants ?? [], credential: openCredential(client, deps, closing) },
    ]),
  );
  return {
    get: (clientId) => clients.get(clientId),
    close() {
      for (const close of closing) close();
    },
  };
}

/** Returns the clients that are registered for assertions alone. Those with credentials come last and win. */
function clientsOfAssertions({ identity_assertions: issuers }: Pick<AuthServer, 'identity_assertions'>): Configured[] {
  const all = issuers.flatMap(({ clients, ca_bundle_file }) =>
    clients.map((client) => ({ ...client, ca_bundle_file })),
  );
  const isKeyed = ({ client_secret_file: file, jwks_url: url }: Configured) => file !== undefined || url !== undefined;
  // A client with a metadata document, or one that registers itself, is known without an entry.
  const open = all.filter(({ client_id: id }) => !isDocumentUrl(id) && !isGeneratedId(id));
  return [...open, ...all.filter(isKeyed)];
}

function describeClient(config: Configured): Client {
  return {
    client_id: config.client_id,
    client_name: config.display_name,
    redirect_uris: config.redirect_uris ?? [],
    scope: config.scopes?.join(' '),
    isVerified: config.verified ?? false,
    consent: config.consent ?? 'required',
  };
}

function openCredential(config: Configured, deps: KeySetDeps, closing: (() => void)[]): ClientCredential {
  const { client_id: client, client_secret_file: file, jwks, jwks_url: url, ca_bundle_file: authorities } = config;
  const { readFile, log } = deps;
  if (file !== undefined) {
    if (isBlank(readFile(file))) log.warn('a client is refused until its secret is written', { client, file });
    return { type: 'secret', read: () => readFile(file) };
  }
  if (jwks === undefined && url === undefined) return { type: 'none' };
  return { type: 'keys', keys: openKeySet({ owner: `client ${client}`, jwks, url, authorities }, deps, closing) };
}
