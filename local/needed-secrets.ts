import { valueAt } from '#crds/parts/rule';
import { GENERATED_SECRETS, type GeneratedSecret, type Manifest } from '#operator/snapshot';

const OF_AUTH_SERVER = new Set<GeneratedSecret>(['signingKey', 'hmacSecret']);

/** An MCPServer gets its authorization server from the configuration that it references. */
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

/** The tokens are sealed, whichever runtime uses them. */
export function hasLogin({ spec }: Pick<Manifest, 'spec'>): boolean {
  return valueAt(spec, ['remoteAuth']) !== undefined;
}

/** Keys for an authorization server or for sealed logins are included only when the resource has one. */
export function neededSecrets(served: Manifest, manifests: readonly Manifest[]): GeneratedSecret[] {
  const withAuthServer = hasAuthServer(served, manifests);
  const isNeeded = (which: GeneratedSecret) => which === 'hmacSecret' && hasLogin(served);
  return GENERATED_SECRETS.filter((which) => withAuthServer || !OF_AUTH_SERVER.has(which) || isNeeded(which));
}
