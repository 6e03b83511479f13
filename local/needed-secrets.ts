import { valueAt } from '#crds/parts/rule';
import { GENERATED_SECRETS, type GeneratedSecret, type Manifest } from '#operator/world';

const OF_AUTH_SERVER = new Set<GeneratedSecret>(['signingKey', 'hmacSecret']);

/** Whether unchecked specs say that there is an authorization server. An MCPServer has one by the configuration it refers to. */
function hasAuthServer({ kind, metadata, spec }: Manifest, manifests: readonly Manifest[]): boolean {
  if (kind === 'VirtualMCPServer') return valueAt(spec, ['authServerConfig']) !== undefined;
  const name = valueAt(spec, ['externalAuthConfigRef', 'name']);
  return manifests.some(
    (one) =>
      one.kind === 'MCPExternalAuthConfig' &&
      one.metadata.name === name &&
      one.metadata.namespace === metadata.namespace &&
      valueAt(one.spec, ['embeddedAuthServer']) !== undefined,
  );
}

/** Whether somebody logs in at a remote server: what they get is sealed, too, whatever runtime uses it. */
export function hasLogin({ spec }: Pick<Manifest, 'spec'>): boolean {
  return valueAt(spec, ['remoteAuth']) !== undefined;
}

/**
 * The secrets that are made for the runtime of a resource; those of an authorization server, and of what seals logins, only where
 * there is one.
 */
export function neededSecrets(served: Manifest, manifests: readonly Manifest[]): GeneratedSecret[] {
  const withAuthServer = hasAuthServer(served, manifests);
  const isNeeded = (which: GeneratedSecret) => which === 'hmacSecret' && hasLogin(served);
  return GENERATED_SECRETS.filter((which) => withAuthServer || !OF_AUTH_SERVER.has(which) || isNeeded(which));
}
