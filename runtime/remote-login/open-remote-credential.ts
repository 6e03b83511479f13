import { isBlank } from '#crds/parts/primitives';
import type { ProxySettings } from '#lib/connections/proxy';
import type { RemoteAuth } from '#crds/run-config/outgoing';
import type { AuditEvent } from '#runtime/audit/audit';
import { createUserTokens } from '#runtime/authserver/upstream-tokens/create-user-tokens';
import { ConfigError } from '#runtime/errors';
import type { SecretFiles } from '#runtime/secret-files';
import type { Log } from '#runtime/telemetry/log';
import { findServer, type RemoteServer } from './find-server.ts';
import { rememberServer } from './known-server.ts';
import { authMethodOf } from './register-at.ts';
import type { RemoteClient } from './registered-client.ts';
import { RemoteCredential, SHARED_ISSUER } from './remote-credential.ts';
import { createRemoteHttp } from './remote-http.ts';
import { RemoteProvider } from './remote-provider.ts';
import { openRemoteStore, SHARED } from './remote-store.ts';
import { SharedLogin } from './shared-login.ts';

interface RemoteDeps {
  readonly backend: string;
  readonly url: string;
  readonly ca: string | undefined;
  readonly files: Pick<SecretFiles, 'read' | 'readBytes'>;
  readonly proxy: ProxySettings | undefined;
  readonly record: (event: AuditEvent) => void;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Returns the credential of a backend whose login an administrator does. @throws ConfigError */
export async function openRemoteCredential(auth: RemoteAuth, deps: RemoteDeps): Promise<RemoteCredential> {
  const { backend: name, url, ca, files, proxy, record, log, now } = deps;
  const given = giveClient(auth, deps);
  const store = await openRemoteStore(auth, { url, readFile: files.read, readBytes: files.readBytes, now });
  const written = [url, auth.issuer, auth.authorize_url, auth.token_url].filter((one) => one !== undefined);
  const http = createRemoteHttp({ name, written, ca, proxy });
  const server = rememberServer(() => findServer(auth, { name, url, http }), now);
  const holder = async (at: RemoteServer) => {
    const former = await store.holder();
    // Rereads the secret of a configured client.
    return former?.registered ? former : former && { ...(given(at) ?? former), issuer: former.issuer };
  };
  const provider = new RemoteProvider({
    name,
    http,
    server,
    holder,
    forgetClient: () => store.forgetRegistered(),
    now,
  });
  const tokens = createUserTokens({
    storage: store.storage,
    secrets: store.secrets,
    place: auth.owner,
    providers: () => new Map([[store.id, provider]]),
    record,
    log,
    now,
    issuer: SHARED_ISSUER,
    connectionsUrl: url,
  });
  const changed = () => tokens.changed(SHARED);
  const login = new SharedLogin({ name, auth, store, http, provider, server, given, changed, record, log, now });
  const close = async () => {
    await Promise.all([store.close(), provider.close()]);
  };
  return new RemoteCredential({ backend: name, store, tokens, login, log, close });
}

/** @throws ConfigError if the secret of the client is empty */
function giveClient(
  { client_id: clientId, client_secret_file: file }: RemoteAuth,
  { backend, files }: RemoteDeps,
): (server: RemoteServer) => RemoteClient | undefined {
  const secret = () => (file === undefined ? undefined : files.read(file));
  const first = secret();
  if (first !== undefined && isBlank(first)) throw new ConfigError(`backend ${backend}: ${file ?? ''} is empty`);
  return (server) => {
    if (clientId === undefined) return undefined;
    const client_secret = secret();
    const method = authMethodOf(server, client_secret !== undefined);
    const client = { client_id: clientId, token_endpoint_auth_method: method, issuer: server.metadata.issuer };
    return client_secret === undefined ? client : { ...client, client_secret };
  };
}
