import { type IncomingAuth, resourceUrlOf } from '#crds/parts/incoming-auth';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled } from '../errors.ts';
import type { Snapshot } from '../snapshot.ts';
import { defined } from './defined.ts';
import type { FileList } from './file-list.ts';
import { renderInlineIssuer, renderKubernetesIssuer } from './render-issuer.ts';
import { resolveAuthz, type ResolvedAuthz } from './resolve-authz.ts';
import { type ResolvedIssuer, resolveIssuer } from './resolve-issuer.ts';
import type { Finding } from './finding.ts';

type IncomingDocument = RunConfigDocument['incoming'];

export interface ResolvedIncoming {
  incoming: IncomingDocument;
  authz?: ResolvedAuthz;
  place?: string;
  warnings: Finding[];
}

const AUDIENCE_NOT_CHECKED: Finding = {
  type: 'AudienceNotChecked',
  status: 'True',
  reason: 'NoAudience',
  message:
    'Tokens that the issuer made for any other service are let in: write incomingAuth.resourceUrl, or an audience.',
};

function policiesOf({ authzConfig }: IncomingAuth, groupsClaim: string | undefined, snapshot: Snapshot) {
  return authzConfig && resolveAuthz(authzConfig, 'incomingAuth.authzConfig', groupsClaim, snapshot);
}

/** Compares settings for private addresses if the issuer is in another resource; the schema covers only its own. @throws Stalled */
function checkPrivateAddresses({ jwksAllowPrivateIP: here }: IncomingAuth, issuer: ResolvedIssuer): void {
  const there = issuer.type === 'inline' ? issuer.block.jwksAllowPrivateIP : undefined;
  if (here === undefined || there === undefined || here === there) return;
  const message = `${issuer.place} has jwksAllowPrivateIP ${there}, incomingAuth ${here}: write one value, at one of the two places`;
  throw new Stalled('InvalidIncomingAuth', message);
}

/** `embedded`: the authorization server of the same process is the issuer. @throws Stalled, Waiting: no server runs without boundary 1 */
export function resolveIncomingAuth(
  auth: IncomingAuth,
  embedded: boolean,
  snapshot: Snapshot,
  files: FileList,
): ResolvedIncoming {
  if (auth.type === 'anonymous') {
    const authz = policiesOf(auth, undefined, snapshot);
    return defined({ incoming: { type: 'anonymous' as const }, authz, warnings: [] });
  }
  const issuer = resolveIssuer(auth, snapshot);
  checkPrivateAddresses(auth, issuer);
  const rendered =
    issuer.type === 'kubernetes'
      ? renderKubernetesIssuer(issuer.block, auth.jwksAllowPrivateIP, snapshot)
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
  const authz = policiesOf(auth, groupsClaim, snapshot);
  return defined({
    incoming,
    authz,
    place: issuer.place,
    warnings: audience === undefined ? [AUDIENCE_NOT_CHECKED] : [],
  });
}
