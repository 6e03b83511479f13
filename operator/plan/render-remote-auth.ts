import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled, Waiting } from '../errors.ts';
import { type LocalFacts, runtimeFolder, runtimeName, type World } from '../world.ts';
import { defined } from './defined.ts';
import type { FileList } from './file-list.ts';
import type { BackendSpec } from './find-group-members.ts';

type AuthDocument = NonNullable<RunConfigDocument['backends'][number]['auth']>;
type RemoteAuthDocument = Extract<AuthDocument, { type: 'remote_auth' }>;
type RemoteAuth = NonNullable<BackendSpec['remoteAuth']>;
type Kept = Pick<RemoteAuthDocument, 'storage' | 'sealing_secret_files' | 'owner'>;

/** On one machine every runtime of the folder finds the tokens at one place, so that one login serves all. Throws `Waiting`. */
function keptHere(name: string, local: LocalFacts, world: World, files: FileList): Kept {
  const owner = { kind: 'MCPServer', name } as const;
  const uid = local.uids[runtimeName(owner)];
  const digest = world.generated[runtimeName(owner)]?.hmacSecret;
  if (uid === undefined || digest === undefined) {
    const message = `MCPServer "${name}": what seals its login is not made yet: it is made at the next look`;
    throw new Waiting('KeysNotMade', message);
  }
  return {
    storage: { type: 'sqlite', file: `${local.loginDirectory}/${runtimeFolder(owner)}/remote.sqlite` },
    sealing_secret_files: [files.generated('hmacSecret', digest, name)],
    owner: { namespace: world.namespace, name, uid },
  };
}

/** How vmcp logs in at a remote server. Throws `Stalled` where there is no place to do so, `Waiting` for secrets. */
export function renderRemoteAuth(name: string, auth: RemoteAuth, world: World, files: FileList): AuthDocument {
  const place = `MCPServer "${name}" remoteAuth`;
  if (world.platform.mode === 'cluster') {
    const message = `MCPServer "${name}": a login by remoteAuth is for one machine yet: write bearerTokenSecretRef, or externalAuthConfigRef`;
    throw new Stalled('RemoteAuthNotServed', message);
  }
  return defined({
    type: 'remote_auth' as const,
    issuer: auth.issuer,
    authorize_url: auth.authorizeUrl,
    token_url: auth.tokenUrl,
    client_id: auth.clientId,
    client_secret_file: auth.clientSecretRef && files.secret(auth.clientSecretRef, `${place}.clientSecretRef`),
    scopes: auth.scopes,
    resource: auth.resource,
    oauth_params: auth.oauthParams,
    use_pkce: auth.usePkce,
    callback_port: auth.callbackPort,
    timeout: auth.timeout,
    ...keptHere(name, world.platform, world, files),
  });
}
