import { type IncomingAuth, resourceUrlOf } from '#crds/parts/incoming-auth';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import type { World } from '../world.ts';
import { defined } from './defined.ts';
import type { FileList } from './file-list.ts';
import { renderInlineIssuer, renderKubernetesIssuer } from './render-issuer.ts';
import { resolveAuthz } from './resolve-authz.ts';
import { resolveIssuer } from './resolve-issuer.ts';
import type { Finding } from './summarise-status.ts';

type IncomingDocument = RunConfigDocument['incoming'];

/** Boundary 1 of one document. */
export interface ResolvedIncoming {
  incoming: IncomingDocument;
  authz?: NonNullable<RunConfigDocument['authz']>;
  warnings: Finding[];
}

const AUDIENCE_NOT_CHECKED: Finding = {
  type: 'AudienceNotChecked',
  status: 'True',
  reason: 'NoAudience',
  message:
    'Tokens that the issuer made for any other service are let in: write incomingAuth.resourceUrl, or an audience.',
};

function policiesOf({ authzConfig }: IncomingAuth, groupsClaim: string | undefined, world: World) {
  return authzConfig && resolveAuthz(authzConfig, 'incomingAuth.authzConfig', groupsClaim, world).document;
}

/**
 * Boundary 1. `embedded`: the issuer is the authorization server of the same process.
 * Throws `Stalled` and `Waiting`: a server without its boundary is not served.
 */
export function resolveIncomingAuth(
  auth: IncomingAuth,
  embedded: boolean,
  world: World,
  files: FileList,
): ResolvedIncoming {
  if (auth.type === 'anonymous') {
    const authz = policiesOf(auth, undefined, world);
    return defined({ incoming: { type: 'anonymous' as const }, authz, warnings: [] });
  }
  const issuer = resolveIssuer(auth, world);
  const rendered =
    issuer.type === 'kubernetes'
      ? renderKubernetesIssuer(issuer.block, auth.jwksAllowPrivateIP, world)
      : renderInlineIssuer(issuer.block, auth.jwksAllowPrivateIP, issuer.place, files);
  const audience = issuer.audience ?? resourceUrlOf(auth);
  const incoming: IncomingDocument = defined({
    ...rendered,
    audience,
    scopes: issuer.scopes,
    embedded: embedded || undefined,
    required_typ: auth.requiredTyp,
  });
  const groupsClaim = issuer.type === 'inline' ? issuer.block.groupsClaim : undefined;
  const authz = policiesOf(auth, groupsClaim, world);
  return defined({ incoming, authz, warnings: audience === undefined ? [AUDIENCE_NOT_CHECKED] : [] });
}
