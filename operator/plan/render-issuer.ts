import { KUBERNETES_ISSUER } from '#crds/parts/defaults';
import type { SharedKubernetesOidc, SharedOidc } from '#crds/parts/oidc-config';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled, Waiting } from '../errors.ts';
import type { Snapshot } from '../snapshot.ts';
import { defined } from './defined.ts';
import type { FileList } from './file-list.ts';

type OidcDocument = Extract<RunConfigDocument['incoming'], { type: 'oidc' }>;

const trueOnly = (value: boolean | undefined) => (value === true ? true : undefined);

export function renderInlineIssuer(
  issuer: SharedOidc,
  allowPrivateIp: boolean | undefined,
  field: string,
  files: FileList,
): OidcDocument {
  return defined({
    type: 'oidc' as const,
    issuer: issuer.issuer,
    client_id: issuer.clientId,
    client_secret_file: issuer.clientSecretRef && files.credential(issuer.clientSecretRef, `${field}.clientSecretRef`),
    introspection_url: issuer.introspectionUrl,
    jwks_url: issuer.jwksUrl,
    jwks_auth_token_file: issuer.jwksAuthTokenPath,
    ca_bundle_file: issuer.caBundleRef && files.authorities(issuer.caBundleRef, `${field}.caBundleRef`),
    insecure_allow_http: trueOnly(issuer.insecureAllowHTTP),
    jwks_allow_private_ip: trueOnly(allowPrivateIp ?? issuer.jwksAllowPrivateIP),
    protected_resource_allow_private_ip: trueOnly(issuer.protectedResourceAllowPrivateIP),
    groups_claim: issuer.groupsClaim,
  });
}

/** Returns the key set for the runtime, which cannot fetch it: that needs a token with the API server's audience. */
function clusterKeySet(snapshot: Snapshot): { keys: Record<string, unknown>[] } {
  const { platform } = snapshot;
  if (platform.mode === 'local') {
    const message =
      'oidcConfig.type kubernetes has no cluster here to take the key set from: write useClusterAuth: false and jwksUrl';
    throw new Stalled('InvalidIncomingAuth', message);
  }
  if (platform.keySet) return platform.keySet;
  throw new Waiting(
    'ClusterKeySetUnknown',
    "The cluster's key set is not known yet: the operator asks its API server for it",
  );
}

export function renderKubernetesIssuer(
  issuer: SharedKubernetesOidc,
  allowPrivateIp: boolean | undefined,
  snapshot: Snapshot,
): OidcDocument {
  const clusterIssuer = snapshot.platform.mode === 'cluster' ? snapshot.platform.issuer : undefined;
  const name = issuer.issuer ?? clusterIssuer ?? KUBERNETES_ISSUER;
  const own = issuer.useClusterAuth && [clusterIssuer, KUBERNETES_ISSUER].includes(name);
  const { serviceAccount, namespace = snapshot.namespace } = issuer;
  return defined({
    type: 'oidc' as const,
    issuer: name,
    jwks: own ? clusterKeySet(snapshot) : undefined,
    jwks_url: own ? undefined : issuer.jwksUrl,
    jwks_allow_private_ip: trueOnly(allowPrivateIp),
    required_subject: serviceAccount && `system:serviceaccount:${namespace}:${serviceAccount}`,
  });
}
