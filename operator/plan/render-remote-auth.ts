import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled, Waiting } from '../errors.ts';
import { type LocalFacts, runtimeFolder, runtimeName, type Snapshot } from '../snapshot.ts';
import { defined } from './defined.ts';
import type { FileList } from './file-list.ts';
import type { BackendSpec } from './find-group-members.ts';

type AuthDocument = NonNullable<RunConfigDocument['backends'][number]['auth']>;
type RemoteAuthDocument = Extract<AuthDocument, { type: 'remote_auth' }>;
type RemoteAuth = NonNullable<BackendSpec['remoteAuth']>;
type RemoteAuthState = Pick<RemoteAuthDocument, 'storage' | 'sealing_secret_files' | 'owner'>;

export interface LoginOptions {
  server: string;
  byItself: boolean;
  /** The document has a page for user logins. */
  hasPage: boolean;
  /** Returns its shared store and sealing secrets; undefined: none. @throws Waiting for secrets */
  shared: (files: FileList) => Pick<RemoteAuthState, 'storage' | 'sealing_secret_files'> | undefined;
}

/** Returns the one token store that all runtimes of the folder share, so that one login serves all. @throws Waiting */
function keptHere(name: string, local: LocalFacts, snapshot: Snapshot, files: FileList): RemoteAuthState {
  const owner = { kind: 'MCPServer', name } as const;
  const uid = local.uids[runtimeName(owner)];
  const digest = snapshot.generated[runtimeName(owner)]?.hmacSecret;
  if (uid === undefined || digest === undefined) {
    const message = `MCPServer "${name}": what seals its login is not made yet: it is made at the next look`;
    throw new Waiting('KeysNotMade', message);
  }
  return {
    storage: { type: 'sqlite', file: `${local.loginDirectory}/${runtimeFolder(owner)}/remote.sqlite` },
    sealing_secret_files: [files.generated('hmacSecret', digest, name)],
    owner: { namespace: snapshot.namespace, name, uid },
  };
}

/** Returns the store of an endpoint in a cluster, whose page does the login. @throws Stalled, Waiting */
function keptInCluster(
  name: string,
  { administrators = [], callbackPort }: RemoteAuth,
  { server, byItself, hasPage, shared }: LoginOptions,
  snapshot: Snapshot,
  files: FileList,
): RemoteAuthState & Pick<RemoteAuthDocument, 'administrators'> {
  const refuse = (reason: string, remedy: string): never => {
    const message = `MCPServer "${name}": a login by remoteAuth in a cluster ${remedy}; or write bearerTokenSecretRef, or externalAuthConfigRef`;
    throw new Stalled(reason, message);
  };
  if (!hasPage) {
    const place = byItself
      ? 'a VirtualMCPServer, and not at its own endpoint: write groupRef, and remove oidcConfig, oidcConfigRef, proxyMode and proxyPort'
      : `a VirtualMCPServer with authServerConfig: ${server} has none`;
    return refuse('AuthServerNeeded', `is done at the page of ${place}`);
  }
  const kept = shared(files);
  if (!kept) return refuse('RedisNeeded', `is kept in Redis: write sessionStorage.provider redis in ${server}`);
  if (administrators.length === 0) {
    return refuse(
      'AdministratorsNeeded',
      'is for administrators: write in remoteAuth.administrators the subjects of those who may do it',
    );
  }
  if (callbackPort !== undefined)
    return refuse('CallbackPortIsLocal', 'comes back to that page: remove remoteAuth.callbackPort');
  const uid = snapshot.mcpServers[name]?.metadata.uid;
  if (uid === undefined)
    throw new Waiting('UidNotMade', `MCPServer "${name}" has no uid yet: it is made at the next look`);
  return { ...kept, owner: { namespace: snapshot.namespace, name, uid }, administrators };
}

/** Renders how vmcp logs in at a remote server. @throws Stalled without a place for the login; Waiting for secrets */
export function renderRemoteAuth(
  name: string,
  auth: RemoteAuth,
  login: LoginOptions,
  snapshot: Snapshot,
  files: FileList,
): AuthDocument {
  const place = `MCPServer "${name}" remoteAuth`;
  const { platform } = snapshot;
  return defined({
    type: 'remote_auth' as const,
    issuer: auth.issuer,
    authorize_url: auth.authorizeUrl,
    token_url: auth.tokenUrl,
    client_id: auth.clientId,
    client_secret_file: auth.clientSecretRef && files.credential(auth.clientSecretRef, `${place}.clientSecretRef`),
    scopes: auth.scopes,
    resource: auth.resource,
    oauth_params: auth.oauthParams,
    use_pkce: auth.usePkce,
    callback_port: auth.callbackPort,
    timeout: auth.timeout,
    ...(platform.mode === 'cluster'
      ? keptInCluster(name, auth, login, snapshot, files)
      : keptHere(name, platform, snapshot, files)),
  });
}
